"""Read the messages of any framework: strings, mappings, or objects with a role and text or content."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypedDict

Messages = str | Sequence[object]


class View(TypedDict, total=False):
    """The part of a conversation that a request's messages contain; by default the newest messages."""

    whole_history: bool
    """The messages are all that the model will see: the text of a skill that was loaded by a tool call and
    has since been compacted away is inserted again."""
    elsewhere: bool
    """Earlier messages are stored out of sight, together with the texts inserted among them."""


INSERTED = ("<skill_context ", "<skill_note>")
"""Prefixes of the texts that disclosure inserts among the messages."""


def as_messages(messages: Messages) -> list[object]:
    """Return one or more messages as a list; a string is a user message."""
    return [messages] if isinstance(messages, str) else list(messages)


def role_of(message: object) -> str:
    """Return `user`, `assistant`, `system` or `tool`; a bare string is a user message."""
    if isinstance(message, str):
        return "user"
    role = _field(message, "role", "type")
    value = getattr(role, "value", role)
    return _ROLES.get(str(value).lower(), str(value).lower()) if value is not None else "user"


def text_of(message: object) -> str:
    """Return all text of a message, including tool results."""
    return "\n".join(_texts(message))


def latest_user_text(messages: Messages) -> str | None:
    """Return the user's last message, or None.

    Tool results that a provider stores with role `user` do not count.
    """
    return next((said for message in reversed(as_messages(messages)) if (said := user_text(message))), None)


def user_text(message: object) -> str:
    """Return the user's text in a message; empty for other roles and for inserted texts."""
    if role_of(message) != "user":
        return ""
    said = (text for text in _texts(message, results=False) if not text.startswith(INSERTED))
    return "\n".join(said).strip()


def call_texts(message: object, counts: Callable[[str], bool]) -> Iterable[str]:
    """Yield the arguments of the tool calls in a message, for tools whose name satisfies `counts`."""
    for part in _parts(message):
        function = _field(part, "function")
        called = part if function is None else function
        given = _field(called, "arguments", "input", "args")
        if given is not None and counts(str(_field(called, "name"))):
            yield from _strings(given)


def _parts(message: object) -> Iterable[object]:
    """Yield a message and its content parts."""
    yield message
    for name in ("content", "contents", "parts", "tool_calls"):
        inner = None if isinstance(message, str) else _field(message, name)
        if isinstance(inner, list | tuple):
            yield from (part for part in inner if not isinstance(part, str))


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool"}
_RESULTS = frozenset({"tool_result", "function_result", "function_call_output"})


def _texts(value: object, *, results: bool = True) -> Iterable[str]:
    if isinstance(value, str):
        yield value
        return
    if isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part, results=results)
        return
    if not results and str(_field(value, "type")) in _RESULTS:
        return
    for name in ("text", "content", "contents", "parts", "result", "output"):
        inner = _field(value, name)
        if isinstance(inner, str | list | tuple) and inner:
            yield from _texts(inner, results=results)
            return


def _field(value: object, *names: str) -> object:
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if found is not None and not callable(found):
            return found
    return None
