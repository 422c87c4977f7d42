"""Compact a long conversation for sending: truncate tool results first, then drop the oldest turns.

The saved conversation stays complete. The positions are stored with it and change in large steps only, so
that consecutive requests share their beginning; Agent Framework's strategies decide anew in each request,
which would break prompt caches, and say nothing of what the user had asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillkit.agent.conversations import text_message, text_of
from skillkit.agent.telemetry import count
from skillkit.core.text import shortened

Message = dict[str, Any]

SHARE_OF_CONTEXT = 0.6
"""The share of the context window for earlier messages; the rest is for instructions and the answer."""
MAX_TEXT = 50_000
"""Limit of characters of a message or result when sent again, whatever the context window."""
SHORT_TEXT, SHORT_RESULT = 2_000, 600
"""Characters kept of earlier messages and of tool results when space runs out."""
FILE_TOKENS = 1_600
"""Estimated tokens of an image or document in a result, from the documented cost of a typical image."""
_MAX_QUESTIONS, _MAX_QUESTION = 8, 80


@dataclass(frozen=True, slots=True)
class Compaction:
    """Positions of the compaction: messages before `dropped` are omitted, those before `shortened`
    truncated."""

    dropped: int = 0
    shortened: int = 0

    @classmethod
    def from_data(cls, data: object) -> "Compaction":
        match data:
            case {"dropped": int(dropped), "shortened": int(shortened)}:
                return cls(dropped, shortened)
            case _:
                return cls()

    def describe(self, messages: Sequence[Message]) -> str:
        """Describe the omitted and truncated parts of `messages`, if any."""
        kinds = [
            name
            for name, kind in (("tool results", "function_result"), ("messages", "text"))
            if any(
                content.get("type") == kind
                and _shorten_content(content, SHORT_TEXT, SHORT_RESULT) is not content
                for message in messages[self.dropped : self.shortened]
                for content in message.get("contents", ())
            )
        ]
        parts = [f"earlier {' and '.join(kinds)} were shortened"] if kinds else []
        if self.dropped:
            parts.append(f"{self.dropped} messages are no longer sent")
        return ", ".join(parts) or "less of it is sent"

    def view(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages as sent."""
        dropped = min(self.dropped, len(messages))
        view = [_note(messages[:dropped])] if dropped else []
        for place, message in enumerate(messages[dropped:], dropped):
            short = place < self.shortened
            texts, results = (SHORT_TEXT, SHORT_RESULT) if short else (MAX_TEXT, MAX_TEXT)
            contents = [_shorten_content(content, texts, results) for content in message.get("contents", ())]
            view.append({**message, "contents": contents})
        return view


def compact(messages: Sequence[Message], now: Compaction, limit: int) -> Compaction:
    """Return a compaction with at most `limit` tokens, as far as turns can be dropped.

    When it has to grow, it frees half of the limit, so that the next requests need no further compaction. The
    latest turn is never changed.
    """
    if tokens_of(now.view(messages)) <= limit:
        return now
    turns = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    latest = turns[-1] if turns else len(messages)
    compacted = replace(now, shortened=max(now.shortened, latest))
    if tokens_of(compacted.view(messages)) <= limit * 3 // 4:
        return compacted
    for place in turns:
        if place > compacted.dropped:
            compacted = replace(compacted, dropped=place)
            if tokens_of(compacted.view(messages)) <= limit // 2:
                break
    return compacted


def tokens_of(messages: Sequence[Message]) -> int:
    """Return the token count of messages, including tool calls and results."""
    contents = [content for message in messages for content in message.get("contents", ())]
    return sum(count(content_text(content)) + FILE_TOKENS * len(_files(content)) for content in contents)


def content_text(content: Message) -> str:
    """Return the text of a message part as the model sees it."""
    match content.get("type"):
        case "text":
            return str(content.get("text") or "")
        case "function_call":
            return f"{content.get('name')} {content.get('arguments')}"
        case "function_result":
            return str(content.get("result"))
        case _:
            return ""


def _shorten_content(content: Message, texts: int, results: int) -> Message:
    match content:
        case {"type": "text", "text": str(text)} if len(text) > texts:
            return {**content, "text": _shorten(text, texts)}
        case {"type": "function_result", "result": result} if len(str(result)) > results:
            return {**_without_files(content), "result": _shorten(str(result), results)}
        case {"type": "function_result"} if results == SHORT_RESULT and _files(content):
            return _without_files(content)
        case _:
            return content


def _files(content: Message) -> list[object]:
    """Return the images and documents of a result."""
    return [item for item in content.get("items") or () if item.get("type") == "data"]


def _without_files(content: Message) -> Message:
    return {key: value for key, value in content.items() if key != "items"}


def _shorten(text: str, limit: int) -> str:
    head = limit * 3 // 4
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"


def _note(messages: Sequence[Message]) -> Message:
    """Return the message that replaces the dropped messages."""
    asked = [text_of(message) for message in messages if message.get("role") == "user"]
    listed = "\n".join(f"- {shortened(question, _MAX_QUESTION)}" for question in asked[-_MAX_QUESTIONS:])
    text = (
        f"[{len(messages)} earlier messages of this conversation were left out to save space. "
        f"The user had asked:\n{listed}]"
    )
    return text_message("user", text)
