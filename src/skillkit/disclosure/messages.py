"""Reading the messages of any framework: strings, mappings, or objects with a role and text or content."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypedDict

Messages = str | Sequence[object]


class View(TypedDict, total=False):
    """How much of a conversation the messages of a request are; unless said, its newest ones."""

    whole_history: bool
    """They are all that the model will see: the text of a skill that was loaded by a tool call and has since
    been compacted away is put back."""
    elsewhere: bool
    """Earlier ones are kept where they cannot be seen, and with them the texts that were put among them."""


INSERTED = ("<skill_context ", "<skill_note>")
"""How the texts begin that disclosure puts among the messages."""


def as_messages(messages: Messages) -> list[object]:
    """One message or many, as a list; a string is what the user said."""
    return [messages] if isinstance(messages, str) else list(messages)


def role_of(message: object) -> str:
    """`user`, `assistant`, `system` or `tool`; a bare string is the user's."""
    if isinstance(message, str):
        return "user"
    role = _field(message, "role", "type")
    value = getattr(role, "value", role)
    return _ROLES.get(str(value).lower(), str(value).lower()) if value is not None else "user"


def text_of(message: object) -> str:
    """All text of a message, results of tools included."""
    return "\n".join(_texts(message))


def latest_user_text(messages: Messages) -> str | None:
    """What the user asked last, or None when there is no such message.

    Results of tools that a provider files under the user are not what the user said.
    """
    return next((said for message in reversed(as_messages(messages)) if (said := user_text(message))), None)


def user_text(message: object) -> str:
    """What the user said in a message; empty when it is somebody else's, or one of our insertions."""
    if role_of(message) != "user":
        return ""
    said = (text for text in _texts(message, results=False) if not text.startswith(INSERTED))
    return "\n".join(said).strip()


def call_texts(message: object, counts: Callable[[str], bool]) -> Iterable[str]:
    """What the calls in a message were given, of tools whose name `counts`."""
    for part in _parts(message):
        function = _field(part, "function")
        called = part if function is None else function
        given = _field(called, "arguments", "input", "args")
        if given is not None and counts(str(_field(called, "name"))):
            yield from _strings(given)


def _parts(message: object) -> Iterable[object]:
    """A message, and what it is made of."""
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
