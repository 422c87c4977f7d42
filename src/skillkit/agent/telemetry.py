"""What happened, for people and programs: a trace of every request."""

import json
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from skillkit.core.events import NO_JOURNAL, NO_TURN, ConversationTurn, Event, Json, Kind, Writer
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.journal.sensitive import Secrets, described, sensitive_data_enabled

_CONTENTS = {"model": ("instructions", "request", "result"), "tool": ("arguments", "result")}


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The tokens of one model request by what they are spent on."""

    system: int = 0
    skills: int = 0
    tools: int = 0
    messages: int = 0
    total: int = 0
    output: int = 0
    estimated: bool = True
    """False when the total is what the provider counted; the parts are always estimates."""


@dataclass(frozen=True, slots=True)
class Step:
    """One model request or one call of a tool."""

    kind: str
    name: str
    seconds: float
    tokens: TokenCount | None = None
    processed: int | None = None
    """Prompt tokens that were not in a cache, where the provider says so."""
    instructions: str = ""
    """What a model was told before the conversation, and the texts of skills among its messages."""
    request: str = ""
    """The user's message that a model answers."""
    arguments: str = ""
    """What a tool was called with."""
    result: str = ""
    calls: tuple[str, ...] = ()
    """The tools that a model called, also those that there are not."""
    price: str | None = None
    """What a million tokens cost where they were asked for, `READ/WRITTEN`."""


class Trace:
    """The steps of a conversation in this program; written to the trace log when that is on."""

    def __init__(
        self,
        session: str,
        home: Path,
        *,
        on_step: Callable[[Step], object] = lambda step: None,
        journal: Writer = NO_JOURNAL,
        turn: Callable[[], ConversationTurn] = lambda: NO_TURN,
        price: str | None = None,
    ) -> None:
        self.session = session
        self.home = home
        self.steps: list[Step] = []
        self.on_step = on_step
        self.journal = journal
        self.price = price
        self.turn = turn
        """Where in the conversation the program is."""
        self.problem = ""
        """Why the log could not be written."""

    @property
    def log(self) -> Path:
        return self.home / "logs" / f"session-{self.session}-trace.log"

    def add(self, step: Step) -> None:
        step = replace(step, price=self.price)
        self.steps.append(step)
        self.on_step(step)
        if step.kind == "model":
            self.journal.record(self._event(step))
        if os.environ.get("LOG_LEVEL", "").strip().lower() == "trace":
            try:
                self._write(step)
            except OSError as error:
                self.problem = f"The trace could not be written: {error.strerror or error} ({self.log})"

    def _event(self, step: Step) -> Event:
        data: dict[str, Json] = {"model": step.name, "duration_ms": round(step.seconds * 1000)}
        if step.tokens is not None:
            data["tokens"] = asdict(step.tokens)
        if step.processed is not None:
            data["processed"] = step.processed
        for name in _CONTENTS[step.kind]:
            data[name] = described(getattr(step, name))
        turn = self.turn()
        return Event(Kind.MODEL_CALLED, data=data, conversation=turn.conversation, turn=turn.turn)

    def _write(self, step: Step) -> None:
        entry: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "session": self.session,
            "kind": step.kind,
            "name": step.name,
            "duration_ms": round(step.seconds * 1000),
        }
        if step.tokens is not None:
            entry["tokens"] = asdict(step.tokens)
        if step.processed is not None:
            entry["prompt_tokens_processed"] = step.processed
        if sensitive_data_enabled():
            contents = {name: getattr(step, name) for name in _CONTENTS[step.kind]}
            entry.update(contents)
        line = Secrets.of().json(entry) + "\n"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start


count = TokenEstimator().count
"""The tokens of a text, estimated."""
Next = Callable[[], Awaitable[None]]


def tool_result_text(result: object) -> str:
    """What a tool answered, in whichever form the framework holds it."""
    if isinstance(result, list):
        return "\n".join(str(getattr(part, "text", None) or getattr(part, "result", "")) for part in result)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
