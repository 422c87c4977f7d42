"""`agent`: a conversation at the terminal."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.agent.cli.turns import LATEST, Options, TurnTree, runtime_for, visible, warn
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.text import escape_hidden

if TYPE_CHECKING:
    from skillkit.agent.approvals import Decision, Question
    from skillkit.agent.cli.terminal import Terminal
    from skillkit.agent.runtime import AgentRuntime

COMMANDS = {
    "/help": "show this",
    "/skills": "the skills, and which are in use",
    "/NAME": "use the skill NAME; what follows is its input",
    "/cost": "the tokens of this conversation",
    "/clear": "begin a new conversation",
    "/continue": "go on with an earlier conversation; an id may follow",
    "/exit": "leave",
}
WELCOME = "Type a message, /help for commands, Ctrl-C to stop an answer, Ctrl-D to leave."


def chat(options: Options) -> None:
    """Talk until the user leaves."""
    asyncio.run(Chat(options).run())


class Chat:
    """The loop: read, answer, again."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.tree = TurnTree(shown=options.verbose)
        self.interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self.terminal: Terminal | None = None
        self.runtime = self._open(options)

    async def run(self) -> None:
        if self.interactive:
            from skillkit.agent.cli.terminal import Terminal

            self.terminal = Terminal(self._completions, self.status)
            output.remark(f"{self.status()}\n{WELCOME}")
        try:
            async for line in self._lines():
                if line.strip() in ("/exit", "/quit"):
                    return
                await self._take(line.strip())
        finally:
            await self.runtime.close()

    async def _take(self, text: str) -> None:
        try:
            if text and not self._obey(text):
                await self._turn(text)
        except SkillsUseError as error:
            output.complain(str(error))

    def status(self) -> str:
        """Model, active skills, tokens used."""
        runtime = self.runtime
        used = Usage.of(runtime)
        skills = ", ".join(runtime.active_skills) or "no skill in use"
        return f"{runtime.provider.name}/{runtime.provider.model} · {skills} · {used.total:,} tokens"

    async def _turn(self, text: str) -> None:
        """Answer; Ctrl-C ends the answer and not the program."""
        from skillkit.agent.telemetry import Stopwatch

        watch = Stopwatch()
        task = asyncio.create_task(self._say(text))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            output.remark("\nStopped.")
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            self.tree.finish(watch.seconds, self.runtime.conversation.id)

    async def _say(self, text: str) -> None:
        async for piece in self.runtime.turn(text):
            sys.stdout.write(visible(piece))
            sys.stdout.flush()
        sys.stdout.write("\n")
        sys.stdout.flush()

    def _obey(self, text: str) -> bool:
        """Carry out a command; False for what the model is to answer."""
        command, _, rest = text.partition(" ")
        match command:
            case "/help":
                rows = list(COMMANDS.items())
                output.table(("Command", "What it does"), rows, flexible="What it does")
            case "/skills":
                self._show_skills()
            case "/cost":
                output.say(str(Usage.of(self.runtime)))
            case "/clear":
                self._switch(None)
                output.say("A new conversation.")
            case "/continue":
                self._switch(rest.strip() or LATEST)
                output.say(f"Going on with: {escape_hidden(self.runtime.conversation.title)}")
            case _ if (
                command.startswith("/") and self.runtime.skills.disclosure.get_skill(command[1:]) is None
            ):
                warn(f"There is no command or skill {command}. See /help and /skills.")
            case _:
                return False
        return True

    def _switch(self, continued: str | None) -> None:
        before, self.runtime = self.runtime, self._open(replace(self.options, continued=continued))
        self.runtime.client = before.client  # a model is not loaded twice

    def _show_skills(self) -> None:
        active = self.runtime.active_skills
        rows = [
            (
                skill.name,
                "in use" if skill.canonical_name in active else "",
                output.summary(skill.description, 120),
            )
            for skill in self.runtime.manager.offered_skills()
        ]
        if rows:
            output.table(("Skill", "Now", "Description"), rows, flexible="Description")
        else:
            output.say("No skill is active. Choose with AGENT_SKILLS, or: agent skill enable NAME")

    def _open(self, options: Options) -> "AgentRuntime":
        return runtime_for(options, ask=self._ask if self.interactive else None, show=self.tree)

    def _completions(self) -> list[str]:
        names = self.runtime.skills.disclosure.get_skill_names()
        return [*(command for command in COMMANDS if command != "/NAME"), *(f"/{name}" for name in names)]

    async def _lines(self) -> AsyncIterator[str]:
        if self.terminal is None:
            for line in sys.stdin:
                yield line
            return
        while True:
            try:
                yield await self.terminal.read()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return

    async def _ask(self, question: "Question") -> "Decision":
        from skillkit.agent.approvals import Decision

        assert self.terminal is not None
        skill = question.skill
        wishes = ["network"] if skill.permissions.network else []
        wishes += [f"variable {name}" for name in skill.permissions.env]
        output.remark(
            f"\nThe skill {escape_hidden(skill.name)} wants to run: {escape_hidden(question.command)}\n"
            f"It gets: {escape_hidden(', '.join(wishes)) or 'no network, no variables'}, in the sandbox. "
            f"Digest {question.digest[:19]}…"
        )
        with suppress(EOFError, KeyboardInterrupt):
            said = await self.terminal.ask("Run it? [o]nce, for this [s]ession, [a]lways, [n]o: ")
            for decision in Decision:
                if said.strip().lower() in (decision.value, decision.value[0]):
                    return decision
        return Decision.NO


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a conversation has cost in this program."""

    requests: int = 0
    system: int = 0
    skills: int = 0
    tools: int = 0
    messages: int = 0
    read: int = 0
    written: int = 0
    estimated: bool = False

    @classmethod
    def of(cls, runtime: "AgentRuntime") -> "Usage":
        counts = [step.tokens for step in runtime.trace.steps if step.tokens is not None]
        return cls(
            requests=len(counts),
            system=sum(count.system for count in counts),
            skills=sum(count.skills for count in counts),
            tools=sum(count.tools for count in counts),
            messages=sum(count.messages for count in counts),
            read=sum(count.total for count in counts),
            written=sum(count.output for count in counts),
            estimated=any(count.estimated for count in counts),
        )

    @property
    def total(self) -> int:
        return self.read + self.written

    def __str__(self) -> str:
        about = "about " if self.estimated else ""
        requests = "1 model request" if self.requests == 1 else f"{self.requests} model requests"
        return (
            f"{requests}, {about}{self.read:,} tokens read, {self.written:,} written\n"
            f"of those read, estimated: system {self.system:,}, skills {self.skills:,}, "
            f"tools {self.tools:,}, messages {self.messages:,}"
        )
