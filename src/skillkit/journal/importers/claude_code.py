"""Claude Code's session files: which skill was used, when, and who asked for it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from skillkit.core.disk import user_home
from skillkit.core.events import Event, Json, Kind
from skillkit.journal.importers.json_lines import read_entries, texts_in, time_of
from skillkit.journal.sensitive import described

CLIENT = "claude-code"
_COMMAND = re.compile(r"<command-name>/?([A-Za-z0-9:_.-]{1,128})</command-name>")
_SKILL_FILE = re.compile(r"/([^/]{1,128})/SKILL\.md$")


def claude_code_events(folder: Path | None = None) -> Iterator[Event]:
    """Yield an event for each use of a skill in the sessions below Claude Code's folder."""
    home = folder or Path(os.environ.get("CLAUDE_CONFIG_DIR") or user_home() / ".claude")
    for path in sorted(home.glob("projects/*/*.jsonl")):
        yield from _session(path)


def _session(path: Path) -> Iterator[Event]:
    turn = 0
    for entry in read_entries(path):
        turn += _is_request(entry)
        session = entry.get("sessionId")
        conversation = session if isinstance(session, str) else path.stem
        for use in _uses(entry):
            data = {"client": CLIENT, **use.data}
            yield Event(use.kind, use.skill, "", data, conversation, turn, time_of(entry))


class _Use(NamedTuple):
    kind: Kind
    skill: str
    data: dict[str, Json]


def _uses(entry: dict[str, Any]) -> Iterator[_Use]:
    content = _content(entry)
    if _is_request(entry):
        for text in texts_in(content):
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
    elif part.get("name") == "Read" and (found := _SKILL_FILE.search(str(arguments.get("file_path")))):
        yield _Use(Kind.READ, found[1], {"origin": "model"})


def _is_request(entry: dict[str, Any]) -> bool:
    """Return whether the user wrote this; tool results are user messages too."""
    content = _content(entry)
    results = isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") == "tool_result" for part in content
    )
    return entry.get("type") == "user" and not entry.get("isMeta") and content is not None and not results


def _content(entry: dict[str, Any]) -> object:
    message = entry.get("message")
    return message.get("content") if isinstance(message, dict) else None
