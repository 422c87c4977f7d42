"""An external program as executor: `claude -p`, `codex exec`, or any command that prints its answer."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import parse_json
from skillkit.core.process import run
from skillkit.evaluation.behaviour.executor import Task, ToolCall, Transcript, copy_skill, files_in
from skillkit.evaluation.behaviour.recording import PendingRequest

PROMPT = "{prompt}"
MOST_OUTPUT = 4 << 20
"""Limits on its output: the part that is read, and the total size."""
MOST_SAID = 256 << 20


@dataclass(slots=True)
class ProgramExecutor:
    """Starts a command in the folder of the case, with the skill in the program's skills folder."""

    command: tuple[str, ...]
    """The command, with `{prompt}` for the request; without it the request is the last argument."""
    skills_folder: str = ".agents/skills"
    model: str = ""
    paid: bool = True

    @property
    def tells_cost(self) -> bool:
        """Whether the program's events contain costs."""
        return self.name == "claude"

    @property
    def name(self) -> str:
        return Path(self.command[0]).name

    @classmethod
    def named(cls, command: Sequence[str], model: str = "") -> "ProgramExecutor":
        """Return the executor for a known program name or a complete command."""
        known = PRESETS.get(command[0]) if len(command) == 1 else None
        chosen = known or cls(tuple(command))
        place = shutil.which(chosen.command[0])
        if place is None:
            raise ConfigurationError(f"The program '{chosen.command[0]}' is not installed")
        whole = (os.path.abspath(place), *chosen.command[1:])  # absolute because it starts in another folder
        return replace(chosen, command=whole, model=model or chosen.model)

    def run(self, task: Task) -> Transcript:
        """Run the task; the marker stays until the run is recorded, since the program's requests are
        unknown."""
        if task.mark is None:
            return self._run(task)
        with PendingRequest(task.mark, self.name).sent():
            return self._run(task)

    def close(self) -> None:
        """Do nothing: each run ends its program."""

    def _run(self, task: Task) -> Transcript:
        if task.skill is not None:
            copy_skill(task.skill, task.folder / self.skills_folder)
        begun = perf_counter()
        output, error, timed_out = self._start("\n\n".join(task.prompts), task)
        events = list(_events(output))
        answer, calls = _read_events(events) if events else (output.strip(), [])
        usage = _usage(events)
        return Transcript(
            answer,
            tuple(calls),
            tuple(_skills(calls, task)),
            files_in(task.folder),
            int(usage["tokens"]),
            max(1, int(usage["requests"])),
            perf_counter() - begun,
            usage["cost"] or None,
            error,
            timed_out,
        )

    def _start(self, prompt: str, task: Task) -> tuple[str, str, bool]:
        """Return the output, the reason of an incomplete run, and whether it timed out."""
        command = [part.replace(PROMPT, prompt) for part in self.command]
        if command == list(self.command):
            command.append(prompt)
        done = run(
            command,
            environment=os.environ,
            cwd=task.folder,
            send=b"",
            limit=MOST_SAID,
            timeout=task.seconds,
            memory=None,
        )
        text = done.output.decode("utf-8", "replace")[:MOST_OUTPUT]
        if done.timed_out:
            return text, f"took longer than {task.seconds:g} s", True
        said = done.stopped or done.complaint.strip()[-300:]
        return text, f"ended with code {done.code}: {said}" if done.code else "", False


PRESETS = {
    "claude": ProgramExecutor(
        ("claude", "-p", PROMPT, "--output-format", "stream-json", "--verbose"), ".claude/skills"
    ),
    "codex": ProgramExecutor(("codex", "exec", "--json", PROMPT), ".agents/skills"),
}


def _events(output: str) -> Iterator[Mapping[str, object]]:
    """Yield the events of either program, if every line of the output is JSON."""
    lines = [line for line in output.splitlines() if line.strip()]
    try:
        events = [parse_json(line) for line in lines]
    except ValueError:
        return
    if events and all(isinstance(event, dict) and "type" in event for event in events):
        yield from events


def _read_events(events: Sequence[Mapping[str, object]]) -> tuple[str, list[ToolCall]]:
    """Return the answer and the tool calls, from the events of claude or codex."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    final = ""
    for event in events:
        message = event.get("message")
        for part in message.get("content", ()) if isinstance(message, dict) else ():
            if isinstance(part, dict) and part.get("type") == "text" and event["type"] == "assistant":
                texts.append(str(part.get("text", "")))
            elif isinstance(part, dict) and part.get("type") == "tool_use":
                calls.append(
                    ToolCall(str(part.get("name")), json.dumps(part.get("input"), ensure_ascii=False))
                )
        item = event.get("item")
        if isinstance(item, dict) and event["type"] == "item.completed":
            if item.get("type") == "agent_message":
                final = str(item.get("text", ""))
            elif item.get("type") == "command_execution":
                calls.append(
                    ToolCall("shell", str(item.get("command", "")), str(item.get("aggregated_output", "")))
                )
        if event["type"] == "result" and isinstance(event.get("result"), str):
            final = str(event["result"])
    return final or "\n\n".join(texts), calls


def _usage(events: Sequence[Mapping[str, object]]) -> dict[str, float]:
    found: dict[str, float] = {"tokens": 0, "requests": 0, "cost": 0.0}
    for event in events:
        usage = event.get("usage")
        if isinstance(usage, dict) and event["type"] in ("result", "turn.completed"):
            found["tokens"] += sum(value for value in usage.values() if isinstance(value, int))
        if event["type"] in ("assistant", "turn.completed"):
            found["requests"] += 1
        cost = event.get("total_cost_usd")
        if isinstance(cost, int | float):
            found["cost"] = float(cost)
    return found


def _skills(calls: Sequence[ToolCall], task: Task) -> Iterator[str]:
    """Yield the skill if a tool call names it or reads its file."""
    if task.skill is None:
        return
    name = task.skill.base_dir.name
    for call in calls:
        loaded = call.name == "Skill" and (name in call.arguments or task.skill.name in call.arguments)
        if loaded or f"{name}/SKILL.md" in call.arguments:
            yield task.skill.canonical_name
            return
