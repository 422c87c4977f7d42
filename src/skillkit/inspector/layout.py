"""The frame around every page: title, navigation, where one is."""

from collections.abc import Iterable
from pathlib import Path

from skillkit._version import __version__
from skillkit.core.disk import user_home
from skillkit.inspector.html import Markup, link, tag

NAVIGATION = (
    ("/", "Skills"),
    ("/request", "Request"),
    ("/conversations", "Conversations"),
    ("/runs", "Runs"),
    ("/trust", "Trust"),
    ("/tests", "Tests"),
)


def page(title: str, here: str, *content: object, live: bool = False) -> str:
    """Return a whole document; a `live` one says when what it shows has changed."""
    entries = [
        tag("li", link(address, name, aria_current="page" if address == here else None))
        for address, name in NAVIGATION
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · skillkit"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        tag("script", "", src="/static/inspector.js", defer=True),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag("header", tag("strong", "skillkit"), tag("nav", tag("ul", entries), aria_label="Pages")),
        tag("p", "", id="changed", role="status", hidden=True) if live else None,
        tag("main", tag("h1", title), *content, id="main", tabindex="-1"),
        tag("footer", f"skillkit {__version__} · shows what is on this machine"),
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
