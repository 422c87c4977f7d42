"""Escape and fence third-party text so that it cannot imitate the library's markup."""

import re
import secrets

from skillkit.core.text import cut, one_line, strip_hidden

MAX_MESSAGE = 600

# Tags of our own markup and turn marks of chat templates: inside a fence they are plain text.
_OURS = (
    "available_skills|skill_context|skill_note|skill_resource|skill_search|skill_output|instructions|resources"
    "|execution_directive|system(?:[-_]\\w+)?|start_of_turn|end_of_turn"
)
_MARKUP = re.compile(rf"<(?=[\s/]*(?:{_OURS})\b)", re.IGNORECASE)
_TURN_MARK = re.compile(r"<(?=[|｜][^|｜<>\s]{1,40}[|｜]>)")


def escaped(text: str) -> str:
    """Escape `text` as element content: no hidden characters, no markup."""
    return strip_hidden(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escaped_line(text: str) -> str:
    """Escape `text` like `escaped`, on one line."""
    return escaped(one_line(text))


def attribute(text: str) -> str:
    """Escape `text` as an attribute value in double quotes."""
    return escaped_line(text).replace('"', "&quot;").replace("'", "&#39;")


def error_element(code: str, message: str) -> str:
    """Format an error in the form shared by all tools."""
    shown = escaped(cut(one_line(message), MAX_MESSAGE))
    return f'<error code="{attribute(code)}">{shown}</error>'


def defanged(text: str) -> str:
    """Remove hidden characters from `text` and neutralise our markup and the turn marks of chat templates.

    Everything else is unchanged: most skills consist of Markdown and code.
    """
    visible = strip_hidden(text)
    if "<" not in visible:
        return visible
    return _TURN_MARK.sub("&lt;", _MARKUP.sub("&lt;", visible))


def new_nonce() -> str:
    return secrets.token_hex(8)


def nonce_for(text: str, nonce: str | None = None) -> str:
    """Return `nonce`, or a new one if it is None or occurs in `text`."""
    while not nonce or nonce in text:
        nonce = new_nonce()
    return nonce


def fenced(text: str, nonce: str) -> str:
    """Put `text` between two lines that only the library can write; `nonce` comes from `nonce_for(text)`."""
    return f"[{nonce} begin]\n{defanged(text)}\n[{nonce} end]"


def carries(text: str, nonce: str) -> bool:
    """Return whether `text` contains the fence of `nonce`."""
    return f"[{nonce} begin]" in text and f"[{nonce} end]" in text
