"""Pictures and documents in results of tools, for Agent Framework.

Most of its clients drop non-text content of a result, with a warning. So the files are in a message
of the user after the results, which every client sends, as in any loop on chat completions.
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


def show_files(messages: Sequence[Message]) -> list[Message]:
    """Return `messages` as every client can send them: files follow the results."""
    shown: list[Message] = []
    waiting: list[Content] = []
    for message in messages:
        if waiting and message.role != "tool":
            shown.append(_looked_at(waiting))
            waiting = []
        files = [file for content in message.contents for file in _files(content)]
        waiting += files
        shown.append(_without_files(message) if files else message)
    return [*shown, _looked_at(waiting)] if waiting else shown


def unshow_files(messages: Sequence[Message]) -> list[Message]:
    """Return `messages` for a history: shown files are moved back into their results."""
    said: list[Message] = []
    for message in messages:
        if INSERTED not in message.additional_properties:
            said.append(message)
            continue
        files = [content for content in message.contents if content.type == "data"]
        if files and said:
            said[-1] = _with(said[-1], files)
    return said


def _files(content: Content) -> list[Content]:
    items = content.items or () if content.type == "function_result" else ()
    return [item for item in items if item.type == "data"]


def _without_files(message: Message) -> Message:
    """Return a copy without files; the history keeps those of the result."""
    contents = []
    for content in message.contents:
        kept = copy(content)
        kept.items = [item for item in content.items or () if item.type != "data"] or None
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
