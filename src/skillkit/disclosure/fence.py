"""Text of others, held so that nothing in it can pass for ours."""

import re
import secrets

from skillkit.core.text import cut, one_line, strip_hidden

MAX_MESSAGE = 600

# What our own markup is made of, and the turn marks of chat templates: inside a fence they are only text.
_OURS = (
    "available_skills|skill_context|skill_note|skill_resource|skill_search|skill_output|instructions|resources"
    "|execution_directive|system(?:[-_]\\w+)?|start_of_turn|end_of_turn"
)
_MARKUP = re.compile(rf"<(?=[\s/]*(?:{_OURS})\b)", re.IGNORECASE)
_TURN_MARK = re.compile(r"<(?=[|｜][^|｜<>\s]{1,40}[|｜]>)")


def escaped(text: str) -> str:
    """`text` as the content of an element: nothing hidden, nothing that is markup."""
    return strip_hidden(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escaped_line(text: str) -> str:
    """`escaped`, on one line."""
    return escaped(one_line(text))


def attribute(text: str) -> str:
    """`text` as the value of an attribute, between double quotes."""
    return escaped_line(text).replace('"', "&quot;").replace("'", "&#39;")


def error_element(code: str, message: str) -> str:
    """What went wrong, in the one form that every tool's answer has."""
    shown = escaped(cut(one_line(message), MAX_MESSAGE))
    return f'<error code="{attribute(code)}">{shown}</error>'


def defanged(text: str) -> str:
    """`text` with nothing hidden, where markup of ours and turn marks of chat templates are harmless.

    Everything else stays as it was written: most of what skills are made of is Markdown and code.
    """
    visible = strip_hidden(text)
    if "<" not in visible:
        return visible
    return _TURN_MARK.sub("&lt;", _MARKUP.sub("&lt;", visible))


def new_nonce() -> str:
    return secrets.token_hex(8)


def nonce_for(text: str, nonce: str | None = None) -> str:
    """`nonce`, or a new one if there is none or if `text` knows it."""
    while not nonce or nonce in text:
        nonce = new_nonce()
    return nonce


def fenced(text: str, nonce: str) -> str:
    """`text` between two lines that only we can write; `nonce` comes from `nonce_for(text)`."""
    return f"[{nonce} begin]\n{defanged(text)}\n[{nonce} end]"


def carries(text: str, nonce: str) -> bool:
    """Whether `text` has what was fenced with `nonce`."""
    return f"[{nonce} begin]" in text and f"[{nonce} end]" in text
