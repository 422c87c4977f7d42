"""Codex's session files: skills that were put into the context, and skill files that commands read."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillkit.core.disk import user_home
from skillkit.core.events import Event, Json, Kind
from skillkit.journal.importers.json_lines import read_entries, texts_in, time_of

CLIENT = "codex"
_INJECTED = re.compile(r"\s*<skill>\s*<name>([^<]{1,128})</name>")
_CONTEXT = re.compile(
    r"\s*<(environment_context|user_instructions|INSTRUCTIONS|skills_instructions)|# AGENTS\.md"
)
_SKILL_FILE = re.compile(r"([^/\s\"'\\]{1,128})/SKILL\.md\b")
_CALLS = frozenset({"function_call", "local_shell_call", "custom_tool_call", "CommandExecution"})


def codex_events(folder: Path | None = None) -> Iterator[Event]:
    """Yield an event for each use of a skill in the sessions below Codex's folder."""
    home = folder or Path(os.environ.get("CODEX_HOME") or user_home() / ".codex")
    for path in sorted(home.glob("sessions/**/*.jsonl")):
        yield from _session(path)


def _session(path: Path) -> Iterator[Event]:
    conversation, turn = path.stem, 0
    called: set[tuple[int, str]] = set()
    for entry in read_entries(path):
        payload = entry.get("payload")
        item: dict[str, Any] = payload if isinstance(payload, dict) else entry
        if entry.get("type") == "session_meta":
            conversation = next(
                (name for key in ("id", "session_id") if isinstance(name := item.get(key), str)), conversation
            )
        if item.get("type") == "message" and item.get("role") == "user":
            turn += any(_is_request(text) for text in texts_in(item.get("content")))
        done = item.get("item") if item.get("type") == "item_completed" else None
        for skill, origin in _uses(done if isinstance(done, dict) else item):
            # The call and its result may both be logged, and are one use.
            if done is not None and (turn, skill) in called:
                continue
            called.add((turn, skill))
            data: dict[str, Json] = {"client": CLIENT, "origin": origin}
            yield Event(Kind.LOADED, skill, "", data, conversation, turn, time_of(entry))


def _uses(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the skills that an item loads, with who requested them."""
    if item.get("type") == "message" and item.get("role") == "user":
        for text in texts_in(item.get("content")):
            if injected := _INJECTED.match(text):
                yield injected[1].strip(), "user"
    elif item.get("type") in _CALLS:
        given = (item.get(key) for key in ("arguments", "action", "input", "command"))
        command = str(next(filter(None, given), ""))
        for name in dict.fromkeys(_SKILL_FILE.findall(command)):
            yield name, "model"


def _is_request(text: str) -> bool:
    return not _INJECTED.match(text) and not _CONTEXT.match(text)
