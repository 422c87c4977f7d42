"""Pictures and documents in results of tools, for clients of Agent Framework whose results are text alone.

Most of its clients leave out what is not text in a result, with a warning. There the files stand in a message
of the user after the results, as in any loop on chat completions.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

from agent_framework import Content, Message

from skillkit.core.text import one_line
from skillkit.disclosure import notes
from skillkit.disclosure.fence import defanged

INSERTED = "skillkit.inserted"
"""Marks a message that stands in a request without being said by anybody."""
_CARRIES_ALL, _CARRIES_PICTURES = "RawOpenAIChatClient", "RawAnthropicClient"


def show_files(messages: Sequence[Message], client: object) -> list[Message]:
    """`messages` as `client` can send them: what it would leave out of results follows these."""
    shown: list[Message] = []
    waiting: list[Content] = []
    for message in messages:
        if waiting and message.role != "tool":
            shown.append(_looked_at(waiting))
            waiting = []
        left_out = [file for content in message.contents for file in _left_out(content, client)]
        waiting += left_out
        shown.append(_without(message, left_out) if left_out else message)
    return [*shown, _looked_at(waiting)] if waiting else shown


def unshow_files(messages: Sequence[Message]) -> list[Message]:
    """What was said of `messages`, for a history: files that were shown are in a result again."""
    said: list[Message] = []
    for message in messages:
        if INSERTED not in message.additional_properties:
            said.append(message)
            continue
        files = [content for content in message.contents if content.type == "data"]
        if files and said:
            said[-1] = _with(said[-1], files)
    return said


def _left_out(content: Content, client: object) -> list[Content]:
    files = [item for item in content.items or () if item.type == "data"]
    return [file for file in files if content.type == "function_result" and not _carries(client, file)]


def _carries(client: object, file: Content) -> bool:
    """Whether a client sends a file as part of a result; its package need not be there."""
    names = {kind.__name__ for kind in type(client).__mro__}
    return _CARRIES_ALL in names or (_CARRIES_PICTURES in names and file.has_top_level_media_type("image"))


def _without(message: Message, files: Sequence[Content]) -> Message:
    """A copy: the history keeps what was in the result."""
    contents = []
    for content in message.contents:
        kept = copy(content)
        kept.items = [item for item in content.items or () if not any(item is file for file in files)] or None
        contents.append(kept)
    changed = copy(message)
    changed.contents = contents
    return changed


def _with(message: Message, files: Sequence[Content]) -> Message:
    changed = copy(message)
    *others, last = message.contents
    result = copy(last)
    result.items = [*(last.items or [Content.from_text(str(last.result))]), *files]
    changed.contents = [*others, result]
    return changed


def _looked_at(files: Sequence[Content]) -> Message:
    contents: list[Any] = []
    for file in files:
        name = defanged(one_line(str(getattr(file, "name", None) or "a file")))
        contents += [notes.wrapped(f"{name}, made by a script:"), file]
    return Message("user", contents, additional_properties={INSERTED: True})
