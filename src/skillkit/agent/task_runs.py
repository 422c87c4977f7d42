"""The program's agent as a test executor: one conversation per run, in a separate home."""

import asyncio
import tempfile
from contextlib import closing, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

from agent_framework import Message

from skillkit.agent.approvals import Decision, ScriptQuestion, ToolQuestion
from skillkit.agent.conversations import ConversationStore
from skillkit.agent.models.provider import ChatProvider, ready
from skillkit.agent.runtime import AgentRuntime, Observers
from skillkit.agent.settings import cost_at
from skillkit.agent.telemetry import Step
from skillkit.core.authority import TrustEverySkill
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.manager import SkillManager
from skillkit.core.threads import in_daemon_thread
from skillkit.evaluation.behaviour.executor import Task, ToolCall, Transcript, copy_skill, files_in
from skillkit.evaluation.behaviour.recorded_calls import RecordedCalls, RecordingClient
from skillkit.evaluation.behaviour.recording import PendingRequest
from skillkit.install.enabled import EnabledSkills

LONGEST_FILES = 12_000
"""Limit of characters of the case's files in the request: this agent has no tool to read them."""


class AgentExecutor:
    """Runs tasks with a provider of the program; the model is loaded once for all of them."""

    def __init__(self, provider: ChatProvider) -> None:
        self.provider = provider
        self.name = provider.name
        self.model = str(provider.model or "")
        self.paid = provider.name not in ("local", "ollama")
        self.tells_cost = not self.paid or provider.settings.price is not None
        self.in_process = provider.in_process
        """Whether the model runs in this process, so that no response can be lost in transit."""
        self._loop = asyncio.Runner()  # so that Ctrl-C ends it cleanly
        self._client: Any = None

    def run(self, task: Task) -> Transcript:
        with tempfile.TemporaryDirectory(prefix="skill-home-") as home:
            return self._loop.run(self._run(task, Path(home), self._recorded(task)))

    def ask(self, question: str) -> str:
        """Answer one question without instructions, tools and skills, for a judge."""
        return self._loop.run(self._ask(question))

    def close(self) -> None:
        if self._client is not None:
            self._loop.run(self.provider.close(self._client))
            self._client = None
        self._loop.close()

    def _recorded(self, task: Task) -> RecordedCalls | None:
        """Return the recorded calls; raise if a request was pending when an earlier test was killed."""
        if task.calls is None:
            return None
        pending = None
        if task.mark is not None and not self.in_process:
            pending = PendingRequest(task.mark, self.name)
            pending.check()
        return RecordedCalls(task.calls, pending)

    async def _ask(self, question: str) -> str:
        await self._load()
        response = await self._client.get_response([Message("user", [question])], options={"max_tokens": 8})
        return str(response.text)

    async def _load(self) -> None:
        if self._client is None:
            self._client = await in_daemon_thread(lambda: ready(self.provider).client())

    async def _run(self, task: Task, home: Path, recorded: RecordedCalls | None) -> Transcript:
        steps: list[Step] = []
        enabled = EnabledSkills(home, bundled=False, environment={})
        enabled.manager = _manager(task, home)
        runtime = AgentRuntime(
            self.provider,
            enabled,
            ConversationStore(home).new(),
            home,
            ask=_allow_in_the_sandbox,
            observers=Observers(step=steps.append),
        )
        begun = perf_counter()
        answer, error, timed_out = "", "", False
        try:
            await self._load()
            runtime.client = RecordingClient(self._client, recorded) if recorded else self._client
            async with asyncio.timeout(task.seconds):
                with closing(recorded) if recorded else nullcontext():
                    for number, prompt in enumerate(task.prompts):
                        answer = await runtime.answer(prompt if number else prompt + _files(task))
        except TimeoutError:
            error, timed_out = f"took longer than {task.seconds:g} s", True
        except SkillsUseError as problem:
            error = str(problem)
        return Transcript(
            answer,
            tuple(ToolCall(step.name, step.arguments, step.result) for step in steps if step.kind == "tool"),
            tuple(runtime.active_skills),
            files_in(task.folder) if task.folder.is_dir() else {},
            sum(step.tokens.total + step.tokens.output for step in steps if step.tokens is not None),
            sum(step.kind == "model" for step in steps),
            perf_counter() - begun,
            cost=self._cost(steps),
            error=error,
            timed_out=timed_out,
        )

    def _cost(self, steps: list[Step]) -> float | None:
        counts = [step.tokens for step in steps if step.tokens is not None]
        read, written = sum(count.total for count in counts), sum(count.output for count in counts)
        return cost_at(self.provider.settings.price, read, written)


def _manager(task: Task, home: Path) -> SkillManager:
    """Return a manager with the skill of the task only, or empty."""
    folder = home / "tested"
    if task.skill is not None:
        copy_skill(task.skill, folder)
    manager = SkillManager(only=folder if task.skill else (), authority=TrustEverySkill())
    manager.discover()
    return manager


async def _allow_in_the_sandbox(question: ScriptQuestion | ToolQuestion) -> Decision:
    """Approve scripts under test that run in the sandbox; refuse one that requests more permissions."""
    refused = isinstance(question, ToolQuestion) or question.skill.permissions
    return Decision.NO if refused else Decision.ONCE


def _files(task: Task) -> str:
    parts = []
    left = LONGEST_FILES
    for name, text in files_in(task.folder).items() if task.folder.is_dir() else ():
        parts.append(f"\n\nFile {name}:\n{text[:left]}")
        left -= min(len(text), left)
    return "".join(parts)
