"""The frame around every page, and the parts that pages are made of."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from skillkit.core.disk import user_home
from skillkit.web.html import Markup, link, tag

STYLE = Path(__file__).parent / "static" / "style.css"


def document(
    title: str,
    *content: object,
    brand: str,
    navigation: Sequence[tuple[str, str]],
    here: str,
    scripts: Sequence[str],
    footer: str,
    live: bool = False,
) -> str:
    """Return a whole document; a `live` one says when what it shows has changed."""
    entries = [
        tag("li", link(address, name, aria_current="page" if address == here else None))
        for address, name in navigation
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · {brand}"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        [tag("script", "", src=address, defer=True) for address in scripts],
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag(
            "header",
            tag("strong", brand, class_="brand"),
            tag("nav", tag("ul", entries), aria_label="Pages"),
        ),
        tag("p", "", id="changed", role="status", hidden=True) if live else None,
        tag("main", tag("h1", title), *content, id="main", tabindex="-1"),
        tag("footer", footer),
        data_live="yes" if live else None,
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en")


def section(title: str, *content: object, identity: str | None = None) -> Markup:
    """Return a part of a page with its heading."""
    return tag("section", tag("h2", title), *content, id=identity)


def facts(rows: Iterable[tuple[str, object]]) -> Markup:
    """Return labels with what they say; a row that says nothing is left out."""
    return tag(
        "dl",
        [[tag("dt", label), tag("dd", value)] for label, value in rows if value not in (None, "", ())],
        class_="facts",
    )


def tiles(figures: Iterable[tuple[str, object, str]]) -> Markup:
    """Return figures one beside the other: what each is, how much, and what to make of it."""
    return tag(
        "dl",
        [
            tag(
                "div",
                tag("dt", label),
                tag("dd", tag("b", figure), tag("small", remark, class_="faint") if remark else None),
            )
            for label, figure, remark in figures
        ],
        class_="tiles",
    )


def legend(kinds: Iterable[tuple[str, str]]) -> Markup:
    """Return what each colour of a bar means."""
    entries = [tag("li", tag("span", "", class_=f"swatch {kind}"), " ", name) for kind, name in kinds]
    return tag("ul", entries, class_="legend")


def choice(name: str, options: Mapping[str, str], chosen: str, otherwise: str | None = None) -> Markup:
    """Return a list to choose from; `otherwise` is what it says when nothing was chosen."""
    entries = [tag("option", otherwise, value="")] if otherwise is not None else []
    entries += [tag("option", text, value=value, selected=value == chosen) for value, text in options.items()]
    return tag("select", entries, name=name)


def count_of(number: int, thing: str) -> str:
    """Return `1 skill`, `1,003 skills`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def nothing(text: str) -> Markup:
    """Return what stands where there is nothing to show."""
    return tag("p", text, class_="nothing")


def badge(text: str, kind: str = "") -> Markup:
    return tag("span", text, class_=f"badge {kind}".strip())


def place(path: Path) -> Markup:
    """Return a folder as people write it, with `~` for their own."""
    home = user_home()
    shown = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
    return tag("span", shown, class_="mono")
