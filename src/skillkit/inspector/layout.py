"""The frame of the inspector's pages."""

from skillkit._version import __version__
from skillkit.web.layout import document

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
    return document(
        title,
        *content,
        brand="skillkit",
        navigation=NAVIGATION,
        here=here,
        scripts=["/static/inspector.js"],
        footer=f"skillkit {__version__} · shows what is on this machine",
        live=live,
    )
