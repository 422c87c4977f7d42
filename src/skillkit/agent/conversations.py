"""Saved conversations: one file each, replaced atomically."""

import json
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from skillkit.agent.exceptions import ConversationError
from skillkit.core.disk import agent_home, make_folder, replace_file
from skillkit.core.foreign_json import parse_json, read_plain
from skillkit.core.text import one_line

FORMAT = 1
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")


@dataclass
class SavedConversation:
    """The messages as plain data, and the state saved with them."""

    id: str
    created: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    updated: str = ""
    results: list[dict[str, Any]] = field(default_factory=list)
    """Results of tools that ran after the last message: the model has not seen them yet."""

    @property
    def title(self) -> str:
        """Return the user's first message."""
        first = next((message for message in self.messages if message.get("role") == "user"), None)
        return one_line(text_of(first))[:80] if first else "(empty)"

    def add(self, messages: Sequence[dict[str, Any]]) -> None:
        """Append new messages; tool results among them are no longer pending."""
        self.messages += messages
        seen = {identity for message in messages for identity in results_of(message)}
        self.results = [result for result in self.results if not results_of(result) <= seen]

    def settle(self) -> None:
        """Clean up after an interrupted turn: keep tool results, remove calls without a result."""
        self.add(self.results)
        answered = {identity for message in self.messages for identity in results_of(message)}
        settled: set[str] = set()
        kept = []
        for message in self.messages:
            if calls_of(message) <= answered and results_of(message) <= settled:
                settled |= calls_of(message)
                kept.append(message)
        self.messages = kept


def text_of(message: dict[str, Any]) -> str:
    contents = message.get("contents", ())
    return "\n".join(part["text"] for part in contents if part.get("type") == "text" and part.get("text"))


def latest_exchange(conversation: SavedConversation) -> tuple[str, str]:
    """Return the last question and its answer; empty if there is no question."""
    answer: list[str] = []
    for message in reversed(conversation.messages):
        if message.get("role") == "user":
            return text_of(message), "\n\n".join(reversed(answer))
        if message.get("role") == "assistant" and text_of(message):
            answer.append(text_of(message))
    return "", ""


def text_message(role: str, text: str) -> dict[str, Any]:
    """Return a message with `text` in the saved format."""
    return {"type": "message", "role": role, "contents": [{"type": "text", "text": text}]}


def _call_ids(message: dict[str, Any], kind: str) -> set[str]:
    return {str(part.get("call_id")) for part in message.get("contents", ()) if part.get("type") == kind}


calls_of = partial(_call_ids, kind="function_call")
results_of = partial(_call_ids, kind="function_result")


class ConversationStore:
    """The folder of conversations."""

    def __init__(self, home: Path | None = None) -> None:
        self.folder = (home or agent_home()) / "sessions"

    def new(self) -> SavedConversation:
        now = datetime.now(UTC)
        identity = f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        return SavedConversation(identity, now.isoformat(timespec="seconds"))

    def save(self, conversation: SavedConversation) -> None:
        conversation.updated = datetime.now(UTC).isoformat(timespec="milliseconds")
        data = {"version": FORMAT, "title": conversation.title, **vars(conversation)}
        text = json.dumps(data, ensure_ascii=False, indent=1)
        make_folder(self.folder)
        replace_file(self._path(conversation.id), text.encode("utf-8", "surrogatepass"), 0o600)

    def load(self, identity: str | None = None) -> SavedConversation:
        """Load the conversation with this id or unambiguous id prefix; without an id, the newest."""
        found = self._find(identity)
        try:
            data = parse_json(read_plain(found).decode("utf-8", "surrogatepass"))
            if data["version"] != FORMAT:
                raise ValueError(f"format {data['version']}")
            return SavedConversation(
                data["id"],
                data["created"],
                list(data["messages"]),
                dict(data["state"]),
                data["updated"],
                list(data.get("results", ())),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConversationError(
                f"The conversation {found.stem} cannot be read ({type(error).__name__}: {error}). "
                "The file is left as it is; start a new one with: agent"
            ) from error

    def all(self) -> list[SavedConversation]:
        """Return all readable conversations, the newest first."""
        conversations = []
        for path in self._files():
            with suppress(ConversationError):
                conversations.append(self.load(path.stem))
        return sorted(conversations, key=lambda conversation: conversation.updated, reverse=True)

    def delete(self, identity: str) -> str:
        path = self._find(identity)
        path.unlink()
        return path.stem

    def _find(self, identity: str | None) -> Path:
        files = self._files()
        if identity is None:
            if not files:
                raise ConversationError("There is no conversation to continue. Start one with: agent")
            return max(files, key=lambda path: path.stat().st_mtime_ns)
        matching = [path for path in files if path.stem.startswith(identity)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise ConversationError(
                f"More than one conversation begins with '{identity}'. Give more of it: agent session list"
            )
        raise ConversationError(f"No conversation has the id '{identity}'. See them with: agent session list")

    def _files(self) -> list[Path]:
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [
            self.folder / name
            for name in sorted(names)
            if name.endswith(".json") and _ID.fullmatch(name.removesuffix(".json"))
        ]

    def _path(self, identity: str) -> Path:
        return self.folder / f"{identity}.json"


def as_markdown(conversation: SavedConversation) -> str:
    """Format a conversation as Markdown."""
    lines = [f"# {conversation.title}", "", f"Conversation {conversation.id}, begun {conversation.created}."]
    active = active_skills(conversation)
    if active:
        lines.append(f"Skills in use: {', '.join(active)}.")
    for message in conversation.messages:
        lines += _markdown(message)
    return "\n".join(lines) + "\n"


def active_skills(conversation: SavedConversation) -> list[str]:
    entries: Sequence[dict[str, Any]] = conversation.state.get("skills", {}).get("active", ())
    return [str(entry["skill_id"]) for entry in entries]


def _markdown(message: dict[str, Any]) -> list[str]:
    speaker = {"user": "You", "assistant": "Agent"}.get(str(message.get("role")), "Tool")
    lines = []
    for content in message.get("contents", ()):
        match content.get("type"):
            case "text" if content.get("text"):
                lines += ["", f"## {speaker}", "", content["text"]]
            case "function_call":
                lines += ["", f"> called `{content.get('name')}` with `{content.get('arguments')}`"]
            case "function_result":
                fence = _fence(str(content.get("result")))
                lines += ["", f"{fence}\n{content.get('result')}\n{fence}"]
    return lines


def _fence(text: str) -> str:
    """Return a fence longer than any in `text`."""
    return "`" * max([2, *(len(run) for run in re.findall(r"`+", text))]) + "`"


STOPPED = "[The user stopped this answer.]"
FAILED = "[This answer failed before it was whole.]"


@dataclass
class UnsavedTurn:
    """The question and the partial answer since the conversation was last saved."""

    question: str
    shown: bool = False
    """Whether any part of the answer was shown."""
    _said: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.shown = True
        self._said.append(text)

    def saved(self) -> None:
        """Discard the partial answer: the complete message is saved."""
        self._said.clear()

    def keep(self, conversation: SavedConversation, *, stopped: bool) -> None:
        """Append the question and the partial answer to the conversation, marked as incomplete."""
        conversation.settle()
        mark = STOPPED if stopped else FAILED
        latest = [message for message in conversation.messages if message.get("role") == "user"][-1:]
        if not any(text_of(message) == self.question for message in latest):
            conversation.add([text_message("user", self.question)])
        said = "".join(self._said).strip()
        last = conversation.messages[-1]
        if not said and last.get("role") == "assistant" and text_of(last):
            last["contents"] = [*last["contents"], {"type": "text", "text": f"\n\n{mark}"}]
            return
        conversation.add([text_message("assistant", f"{said}\n\n{mark}" if said else mark)])
