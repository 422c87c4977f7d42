"""Read logs of other agents on this machine as events; the logs are not changed or copied."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from skillkit.core.disk import user_home
from skillkit.core.events import Event, Json, Kind
from skillkit.core.foreign_json import parse_json
from skillkit.journal.sensitive import described

_MAX_LINE = 4 << 20
"""A longer line is an attachment, not a mention of a skill."""

_COMMAND = re.compile(r"<command-name>/?([A-Za-z0-9:_.-]{1,128})</command-name>")
_READ_FILE = re.compile(r"/([^/]{1,128})/SKILL\.md$")

_INJECTED = re.compile(r"\s*<skill>\s*<name>([^<]{1,128})</name>")
_CONTEXT = re.compile(
    r"\s*<(environment_context|user_instructions|INSTRUCTIONS|skills_instructions)|# AGENTS\.md"
)
_NAMED_FILE = re.compile(r"([^/\s\"'\\]{1,128})/SKILL\.md\b")
_CALLS = frozenset({"function_call", "local_shell_call", "custom_tool_call", "CommandExecution"})


def claude_code_events(folder: Path | None = None) -> Iterator[Event]:
    """Yield an event for each use of a skill in the sessions below Claude Code's folder."""
    home = folder or Path(os.environ.get("CLAUDE_CONFIG_DIR") or user_home() / ".claude")
    for path in sorted(home.glob("projects/*/*.jsonl")):
        yield from _claude_session(path)


def _claude_session(path: Path) -> Iterator[Event]:
    turn = 0
    for entry in _read_entries(path):
        turn += _is_claude_request(entry)
        session = entry.get("sessionId")
        conversation = session if isinstance(session, str) else path.stem
        for use in _claude_uses(entry):
            data = {"client": "claude-code", **use.data}
            yield Event(use.kind, use.skill, "", data, conversation, turn, _time_of(entry))


class _Use(NamedTuple):
    kind: Kind
    skill: str
    data: dict[str, Json]


def _claude_uses(entry: dict[str, Any]) -> Iterator[_Use]:
    content = _content(entry)
    if _is_claude_request(entry):
        for text in _texts_in(content):
            for name in _COMMAND.findall(text):
                yield _Use(Kind.LOADED, name, {"origin": "user"})
    elif entry.get("type") == "assistant" and isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get("type") == "tool_use":
                yield from _tool_use(part)


def _tool_use(part: dict[str, Any]) -> Iterator[_Use]:
    given = part.get("input")
    arguments: dict[str, Any] = given if isinstance(given, dict) else {}
    if part.get("name") == "Skill":
        name = arguments.get("skill") or arguments.get("command")
        if isinstance(name, str):
            data: dict[str, Json] = {"origin": "model"}
            if isinstance(arguments.get("args"), str):
                data["arguments"] = described(arguments["args"])
            yield _Use(Kind.LOADED, name.lstrip("/"), data)
    elif part.get("name") == "Read" and (found := _READ_FILE.search(str(arguments.get("file_path")))):
        yield _Use(Kind.READ, found[1], {"origin": "model"})


def _is_claude_request(entry: dict[str, Any]) -> bool:
    """Return whether the user wrote this; tool results are user messages too."""
    content = _content(entry)
    results = isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") == "tool_result" for part in content
    )
    return entry.get("type") == "user" and not entry.get("isMeta") and content is not None and not results


def _content(entry: dict[str, Any]) -> object:
    message = entry.get("message")
    return message.get("content") if isinstance(message, dict) else None


def codex_events(folder: Path | None = None) -> Iterator[Event]:
    """Yield an event for each use of a skill in the sessions below Codex's folder."""
    home = folder or Path(os.environ.get("CODEX_HOME") or user_home() / ".codex")
    for path in sorted(home.glob("sessions/**/*.jsonl")):
        yield from _codex_session(path)


def _codex_session(path: Path) -> Iterator[Event]:
    conversation, turn = path.stem, 0
    called: set[tuple[int, str]] = set()
    for entry in _read_entries(path):
        payload = entry.get("payload")
        item: dict[str, Any] = payload if isinstance(payload, dict) else entry
        if entry.get("type") == "session_meta":
            conversation = next(
                (name for key in ("id", "session_id") if isinstance(name := item.get(key), str)), conversation
            )
        if item.get("type") == "message" and item.get("role") == "user":
            turn += any(_is_codex_request(text) for text in _texts_in(item.get("content")))
        done = item.get("item") if item.get("type") == "item_completed" else None
        for skill, origin in _codex_uses(done if isinstance(done, dict) else item):
            # The call and its result may both be logged, and are one use.
            if done is not None and (turn, skill) in called:
                continue
            called.add((turn, skill))
            data: dict[str, Json] = {"client": "codex", "origin": origin}
            yield Event(Kind.LOADED, skill, "", data, conversation, turn, _time_of(entry))


def _codex_uses(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the skills that an item loads, with who requested them."""
    if item.get("type") == "message" and item.get("role") == "user":
        for text in _texts_in(item.get("content")):
            if injected := _INJECTED.match(text):
                yield injected[1].strip(), "user"
    elif item.get("type") in _CALLS:
        given = (item.get(key) for key in ("arguments", "action", "input", "command"))
        command = str(next(filter(None, given), ""))
        for name in dict.fromkeys(_NAMED_FILE.findall(command)):
            yield name, "model"


def _is_codex_request(text: str) -> bool:
    return not _INJECTED.match(text) and not _CONTEXT.match(text)


def _read_entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file; skip invalid lines, such as an incomplete last one."""
    try:
        with open(path, "rb") as file:
            while line := file.readline(_MAX_LINE):
                with suppress(ValueError):
                    entry = parse_json(line)
                    if isinstance(entry, dict):
                        yield entry
    except OSError:
        return


def _time_of(entry: dict[str, Any]) -> float:
    """Return when an entry was written; 0 if unknown."""
    try:
        return datetime.fromisoformat(str(entry.get("timestamp"))).timestamp()
    except ValueError:
        return 0.0


def _texts_in(content: object) -> Iterator[str]:
    """Yield the texts of a message's content, in any of its forms."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]


Importer = Callable[[Path | None], Iterator[Event]]

IMPORTERS: Mapping[str, Importer] = {"claude-code": claude_code_events, "codex": codex_events}
"""Clients by name; each importer takes the client's folder, or finds it where the client keeps it."""
