"""Events of a turn as data: one document at the end, or one line per event."""

import json
import sys
from dataclasses import asdict
from typing import Any

from skillkit.agent.cli import output
from skillkit.agent.runtime import UNAIDED_ANSWER, AgentRuntime, Observers
from skillkit.agent.telemetry import Step
from skillkit.core.foreign_json import parse_json
from skillkit.disclosure import Disclosure
from skillkit.disclosure.tool_result import unfence

VERSION = 1


class TurnEvents:
    """Collects the events of one turn; `streaming` writes each as a line of JSON at once."""

    def __init__(self, streaming: bool) -> None:
        self.streaming = streaming
        self._answer: list[str] = []
        self._skills: list[str] = []
        self._tool_calls: list[dict[str, Any]] = []
        self._notices: list[str] = []

    def observers(self) -> Observers:
        return Observers(
            disclosed=self.disclosed,
            step=self.step,
            problem=self.notice,
            activity=self.activity,
            unaided=lambda: self.notice(UNAIDED_ANSWER),
        )

    def start(self, runtime: AgentRuntime) -> None:
        self._emit("start", version=VERSION, **_who(runtime))

    def disclosed(self, disclosed: Disclosure) -> None:
        self._skills = list(disclosed.active)
        matched = [
            {"skill": match.skill.canonical_name, "score": match.score, "reasons": list(match.reasons)}
            for match in disclosed.matched
        ]
        self._emit("skills", active=self._skills, matched=matched)

    def activity(self, text: str) -> None:
        self._emit("activity", text=text)

    def step(self, step: Step) -> None:
        if step.kind == "tool":
            call = {
                "name": step.name,
                "arguments": _parsed(step.arguments),
                "result": unfence(step.result) or step.result,
                "seconds": round(step.seconds, 3),
            }
            self._tool_calls.append(call)
            self._emit("tool_call", **call)
        elif step.tokens is not None:
            self._emit(
                "model_request", model=step.name, seconds=round(step.seconds, 3), tokens=asdict(step.tokens)
            )

    def notice(self, text: str) -> None:
        self._notices.append(text)
        self._emit("notice", text=text)
        if not self.streaming:
            output.warn(text)

    def text(self, piece: str) -> None:
        self._answer.append(piece)
        self._emit("text", text=piece)

    def finish(self, runtime: AgentRuntime, seconds: float, error: Exception | None) -> None:
        """Write the document, or the last event, which has the same fields."""
        document = self.document(runtime, seconds, error)
        if self.streaming:
            self._emit("end", **document)
        else:
            sys.stdout.write(json.dumps({"version": VERSION, **document}, indent=2) + "\n")
            sys.stdout.flush()

    def document(self, runtime: AgentRuntime, seconds: float, error: Exception | None) -> dict[str, Any]:
        usage = runtime.trace.totals
        tokens = usage.tokens
        return {
            "answer": "".join(self._answer).strip(),
            "complete": error is None,
            "error": None if error is None else str(error),
            "skills": self._skills,
            "tool_calls": self._tool_calls,
            "tokens": {"read": tokens.total, "written": tokens.output, "estimated": tokens.estimated},
            "cost": usage.cost,
            "seconds": round(seconds, 3),
            "notices": self._notices,
            **_who(runtime),
        }

    def _emit(self, kind: str, **fields: object) -> None:
        if self.streaming:
            sys.stdout.write(json.dumps({"type": kind, **fields}, default=str) + "\n")
            sys.stdout.flush()


def _who(runtime: AgentRuntime) -> dict[str, str]:
    return {
        "session": runtime.conversation.id,
        "provider": runtime.provider.name,
        "model": runtime.provider.model,
    }


def _parsed(arguments: str) -> object:
    try:
        return parse_json(arguments)
    except ValueError:
        return arguments
