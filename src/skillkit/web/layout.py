"""The frame around every page, and the parts that pages are made of."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from skillkit.core.disk import user_home
from skillkit.web.html import Markup, link, tag

STATIC = Path(__file__).parent / "static"
FILES = {
    "style.css": (STATIC / "style.css", "text/css"),
    "web.js": (STATIC / "web.js", "text/javascript"),
    "icon.svg": (STATIC / "icon.svg", "image/svg+xml"),
}
"""What a server serves below `/static/`: style, the script for tables and copy buttons, and the mark."""


def document(
    title: str,
    *content: object,
    brand: str,
    navigation: Sequence[tuple[str, str]],
    here: str,
    scripts: Sequence[str],
    footer: str,
    live: bool = False,
    unseen: bool = False,
) -> str:
    """Return a whole document; a `live` one says when what it shows has changed, an `unseen` title is for
    screen readers only."""
    entries = [
        tag("li", link(address, name, aria_current="page" if address == here else None))
        for address, name in navigation
    ]
    heading = tag("h1", title, class_="unseen" if unseen else None)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · {brand}"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        tag("link", rel="icon", href="/static/icon.svg"),
        [tag("script", "", src=address, defer=True) for address in scripts],
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag(
            "header",
            tag("strong", mark(), brand, class_="brand"),
            tag("nav", tag("ul", entries), aria_label="Pages"),
        ),
        tag("p", "", id="changed", role="status", hidden=True) if live else None,
        tag("main", heading, *content, id="main", tabindex="-1"),
        tag("footer", footer),
        data_live="yes" if live else None,
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en")


def mark() -> Markup:
    """Return the mark: three tiers, of which the one that every prompt carries is the smallest."""
    tiers = ((8, 2, 8), (5, 9.5, 14), (2, 17, 20))
    rows = [tag("rect", x=x, y=y, width=width, height=5, rx=1.5) for x, y, width in tiers]
    return tag("svg", rows, viewBox="0 0 24 24", class_="mark", aria_hidden="true")


def section(title: str, *content: object, identity: str | None = None) -> Markup:
    """Return a part of a page with its heading."""
    return tag("section", tag("h2", title), *content, id=identity)


def facts(rows: Iterable[tuple[str, object]]) -> Markup:
    """Return labelled values; an empty row is left out."""
    return tag(
        "dl",
        [[tag("dt", label), tag("dd", value)] for label, value in rows if value not in (None, "", ())],
        class_="facts",
    )


def tiles(figures: Iterable[tuple[str, object, object]]) -> Markup:
    """Return tiles side by side: a label, a figure and a note each."""
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
    """Return the legend of a bar."""
    entries = [tag("li", tag("span", "", class_=f"swatch {kind}"), " ", name) for kind, name in kinds]
    return tag("ul", entries, class_="legend")


def choice(name: str, options: Mapping[str, str], chosen: str, otherwise: str | None = None) -> Markup:
    """Return a list to choose from; `otherwise` is what it says when nothing was chosen."""
    entries = [tag("option", otherwise, value="")] if otherwise is not None else []
    entries += [tag("option", text, value=value, selected=value == chosen) for value, text in options.items()]
    return tag("select", entries, name=name)


def field(label: str, name: str, value: str = "", *, short: bool = False, **attributes: object) -> Markup:
    """Return a field to type into, with its label."""
    entry = tag("input", name=name, value=value, autocomplete="off", **attributes)
    return tag("label", label, entry, class_="short" if short else None)


def search(address: str, button: str, *fields: object, **attributes: object) -> Markup:
    """Return a form that asks the server for a list."""
    return tag(
        "form", *fields, tag("button", button, type="submit"), action=address, role="search", **attributes
    )


def nothing(*text: object) -> Markup:
    """Return an empty state: why there is nothing to show, and what to type."""
    return tag("p", *text, class_="nothing")


def command(line: str) -> Markup:
    """Return a line to be typed, which a script lets one copy."""
    return tag("span", tag("code", line), class_="command", data_copy=line)


def local_time(seconds: float, *, exact: bool = False, brief: bool = False) -> Markup:
    """Return a time for people, with the exact one for programs."""
    moment = datetime.fromtimestamp(seconds).astimezone()
    shown = f"{moment:%Y-%m-%d %H:%M:%S}" if exact else f"{moment:%Y-%m-%d %H:%M}"
    if brief:
        shown = f"{moment:%H:%M}" if moment.date() == datetime.now().date() else f"{moment:%d %b %H:%M}"
    return tag("time", shown, datetime=moment.isoformat(timespec="milliseconds"))


def panel(title: str, *content: object, more: object = None, identity: str | None = None) -> Markup:
    """Return one of several cards that lie side by side; `more` stands at the end of its heading."""
    return tag("section", tag("h2", title, more), *content, class_="panel", id=identity)


def badge(text: str, kind: str = "") -> Markup:
    return tag("span", text, class_=f"badge {kind}".strip())


def place(path: Path) -> Markup:
    """Return a folder as people write it, with `~` for their own."""
    home = user_home()
    shown = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
    return tag("span", shown, class_="mono")
