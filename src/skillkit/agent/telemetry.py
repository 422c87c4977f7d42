"""Trace every request, for users and programs."""

import json
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from skillkit.agent.settings import cost_at
from skillkit.core.events import NO_JOURNAL, NO_TURN, ConversationTurn, Event, Json, Kind, Writer
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.journal.sensitive import Secrets, described, sensitive_data_enabled

_CONTENTS = {"model": ("instructions", "request", "result"), "tool": ("arguments", "result")}


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Token counts of one model request, by part."""

    system: int = 0
    skills: int = 0
    tools: int = 0
    messages: int = 0
    total: int = 0
    output: int = 0
    estimated: bool = True
    """Whether the total is an estimate; False if the provider counted it. The parts are always estimates."""


@dataclass(frozen=True, slots=True)
class Step:
    """One model request or one tool call."""

    kind: str
    name: str
    seconds: float
    tokens: TokenCount | None = None
    processed: int | None = None
    """Prompt tokens that were not cached, if reported by the provider."""
    instructions: str = ""
    """Instructions, and the texts of skills among the messages."""
    request: str = ""
    """The user's message."""
    arguments: str = ""
    """Arguments of a tool call."""
    result: str = ""
    calls: tuple[str, ...] = ()
    """The tools that a model called, including unknown ones."""
    price: str | None = None
    """Price per million tokens of the provider, `READ/WRITTEN`."""


@dataclass(frozen=True, slots=True)
class TokenTotals:
    """Token totals of a conversation in this program."""

    requests: int
    tokens: TokenCount
    """Sum over all requests."""
    cost: float | None
    """Cost at the price of each provider used; None if one has no price."""

    @property
    def total(self) -> int:
        return self.tokens.total + self.tokens.output

    def __str__(self) -> str:
        tokens = self.tokens
        about = "about " if tokens.estimated else ""
        requests = "1 model request" if self.requests == 1 else f"{self.requests} model requests"
        return (
            f"{requests}, {about}{tokens.total:,} tokens read, {tokens.output:,} written\n"
            f"of those read, estimated: system {tokens.system:,}, skills {tokens.skills:,}, "
            f"tools {tokens.tools:,}, messages {tokens.messages:,}"
        )


class Trace:
    """The steps of a conversation in this program; written to the trace log if enabled."""

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
        self._before_turn = 0
        self.on_step = on_step
        self.journal = journal
        self.price = price
        self.turn = turn
        """The current position in the conversation."""
        self.problem = ""
        """Why writing the log failed."""

    @property
    def log(self) -> Path:
        return self.home / "logs" / f"session-{self.session}-trace.log"

    def begin_turn(self) -> None:
        self._before_turn = len(self.steps)

    @property
    def of_turn(self) -> list[Step]:
        """Return the steps of the current turn."""
        return self.steps[self._before_turn :]

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

    @property
    def totals(self) -> TokenTotals:
        """Return the totals of all requests so far."""
        steps = [(step.tokens, step.price) for step in self.steps if step.tokens is not None]
        counts = [count for count, _ in steps]
        costs = [cost_at(price, count.total, count.output) for count, price in steps]
        costs = costs or [cost_at(self.price, 0, 0)]
        known = [cost for cost in costs if cost is not None]
        parts = ("system", "skills", "tools", "messages", "total", "output")
        summed = {part: sum(getattr(count, part) for count in counts) for part in parts}
        estimated = any(count.estimated for count in counts)
        cost = sum(known) if len(known) == len(costs) else None
        return TokenTotals(len(counts), TokenCount(**summed, estimated=estimated), cost)

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
    """Measures the seconds since its creation."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start


count = TokenEstimator().count
"""Estimate the tokens of a text."""
Next = Callable[[], Awaitable[None]]


def tool_result_text(result: object) -> str:
    """Return the text of a tool result, in any form the framework uses."""
    if isinstance(result, list):
        return "\n".join(str(getattr(part, "text", None) or getattr(part, "result", "")) for part in result)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
