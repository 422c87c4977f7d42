"""What of a long conversation is sent again: tool results are shortened first, then the oldest turns go.

The saved conversation stays whole. How much of it is left out is kept beside it and changes in large steps
only, so that the beginning of the next request is the beginning of the last one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillkit.agent.conversations import text_message, text_of
from skillkit.agent.telemetry import count
from skillkit.core.text import shortened

Message = dict[str, Any]

SHARE_OF_CONTEXT = 0.6
"""The part of what the model can read that earlier messages get; instructions and answers need the rest."""
MAX_TEXT = 50_000
"""Characters of a message or a result that are ever sent again, whatever the model could read."""
SHORT_TEXT, SHORT_RESULT = 2_000, 600
"""Characters of messages and of tool results that are left of the earlier part when space runs out."""
FILE_TOKENS = 1_600
"""What a picture or document in a result is taken to cost; services say so of a picture of usual size."""
_MAX_QUESTIONS, _MAX_QUESTION = 8, 80


@dataclass(frozen=True, slots=True)
class Compaction:
    """How much is left out: messages before `dropped` are gone, those before `shortened` are short."""

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
        """Say what is left out of `messages`, and nothing that is not."""
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
        """Return the messages as they are sent."""
        dropped = min(self.dropped, len(messages))
        view = [_note(messages[:dropped])] if dropped else []
        for place, message in enumerate(messages[dropped:], dropped):
            short = place < self.shortened
            texts, results = (SHORT_TEXT, SHORT_RESULT) if short else (MAX_TEXT, MAX_TEXT)
            contents = [_shorten_content(content, texts, results) for content in message.get("contents", ())]
            view.append({**message, "contents": contents})
        return view


def compact(messages: Sequence[Message], now: Compaction, limit: int) -> Compaction:
    """Return a compaction under which the view takes at most `limit` tokens, as far as turns can be dropped.

    Once something has to go, half of the limit is made free, so that it need not be done again at once.
    The latest turn is never touched.
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
    """Return the tokens of messages, calls and results of tools included."""
    contents = [content for message in messages for content in message.get("contents", ())]
    return sum(count(content_text(content)) + FILE_TOKENS * len(_files(content)) for content in contents)


def content_text(content: Message) -> str:
    """Return what a part of a message says to the model."""
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
    """The pictures and documents of a result."""
    return [item for item in content.get("items") or () if item.get("type") == "data"]


def _without_files(content: Message) -> Message:
    return {key: value for key, value in content.items() if key != "items"}


def _shorten(text: str, limit: int) -> str:
    head = limit * 3 // 4
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"


def _note(messages: Sequence[Message]) -> Message:
    """What stands in place of the messages that were dropped."""
    asked = [text_of(message) for message in messages if message.get("role") == "user"]
    listed = "\n".join(f"- {shortened(question, _MAX_QUESTION)}" for question in asked[-_MAX_QUESTIONS:])
    text = (
        f"[{len(messages)} earlier messages of this conversation were left out to save space. "
        f"The user had asked:\n{listed}]"
    )
    return text_message("user", text)
