"""`agent`: a conversation at the terminal."""

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from skillkit.agent.approvals import Decision, ScriptQuestion, ToolQuestion
from skillkit.agent.cli import commands, output
from skillkit.agent.cli.commands import SkillSwitches
from skillkit.agent.cli.outcome import exit_code
from skillkit.agent.cli.progress import about_download
from skillkit.agent.cli.screen import AnswerScreen
from skillkit.agent.cli.turns import LATEST, MAX_SHOWN, Options, TurnTree, runtime_for, say_unaided
from skillkit.agent.cli.typed_ahead import silent_keys
from skillkit.agent.conversations import latest_exchange
from skillkit.agent.exceptions import ModelFileError
from skillkit.agent.providers import PROVIDERS
from skillkit.agent.runtime import AgentRuntime, Observers
from skillkit.agent.telemetry import Step, Stopwatch
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.text import escape_hidden, shortened, strip_hidden
from skillkit.core.threads import in_daemon_thread

if TYPE_CHECKING:
    from skillkit.agent.cli.terminal import Terminal

_OPTION = re.compile(r"--(?:model|provider) (\w+)")
"""What an error advises for the command line; in a chat there is a command for it."""
Action = Callable[["Chat", str], Awaitable[None] | None]
COMMANDS: dict[str, tuple[str, Action | None]] = {
    "/help": ("show this", lambda chat, rest: show_help()),
    "/skills": (
        "the skills; /skills on, off, pin or unpin NAME for this conversation",
        lambda chat, rest: chat.switches.do(rest),
    ),
    "/why": (
        "which skills the last request used, which came near, and why",
        lambda chat, rest: commands.show_why(chat.runtime),
    ),
    "/NAME": ("use the skill NAME; what follows is its input", None),
    "/drop": (
        "/drop NAME stops using a skill in this conversation",
        lambda chat, rest: commands.drop(chat.runtime, rest),
    ),
    "@FILE": ("attach a file to the request", None),
    "/model": (
        "the model; /model NAME or PROVIDER/NAME uses another from here on",
        lambda chat, rest: chat.use_model(rest),
    ),
    "/cost": ("the tokens of this conversation", lambda chat, rest: commands.show_cost(chat.runtime)),
    "/compact": ("compact earlier messages", lambda chat, rest: commands.compact(chat.runtime)),
    "/undo": ("undo the last question and its answer", lambda chat, rest: commands.show_undo(chat.runtime)),
    "/retry": ("retry the last question", lambda chat, rest: chat.retry()),
    "/memory": ("what is remembered about you", lambda chat, rest: commands.show_memory(chat.runtime)),
    "/export": ("write the conversation to a file", lambda chat, rest: commands.export(chat.runtime, rest)),
    "/clear": ("start a new conversation", lambda chat, rest: chat.clear()),
    "/continue": (
        "continue an earlier conversation; an id may follow",
        lambda chat, rest: chat.go_on_with(rest),
    ),
    "/exit": ("leave", None),
}
"""Slash commands: help text and handler."""
WELCOME = "Type a message, /help for commands, Ctrl-C to stop an answer, Ctrl-D to leave."


def show_help() -> None:
    rows = [(name, about) for name, (about, _) in COMMANDS.items()]
    output.table(("Command", "What it does"), rows, flexible="What it does")


def chat(options: Options) -> None:
    """Chat until the user leaves; a failed line from a pipe is an error."""
    talk = Chat(options)
    asyncio.run(talk.run())
    if talk.failure is not None and not talk.interactive:
        raise typer.Exit(exit_code(talk.failure))


class Chat:
    """The loop: read, answer, again."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.tree = TurnTree(shown=options.verbose)
        self.interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self.screen = AnswerScreen() if self.interactive else None
        self.terminal: Terminal | None = None
        self._answering: asyncio.Task[None] | None = None
        self.failure: SkillsUseError | None = None
        """The last error that ended a turn."""
        self.runtime: AgentRuntime = self._open(options)
        self.switches: SkillSwitches = SkillSwitches(self.runtime)

    async def run(self) -> None:
        if self.interactive:
            from skillkit.agent.cli.terminal import Terminal

            self.terminal = Terminal(self._completions, self.status)
            output.remark(f"{self.status()}\n{WELCOME}")
            self._show_latest()
        try:
            with silent_keys() if self.interactive else nullcontext():
                async for line in self._lines():
                    if line.strip() in ("/exit", "/quit"):
                        return
                    await self._take(line.strip())
        finally:
            await self.runtime.close()

    async def _take(self, text: str) -> None:
        try:
            if text and not await self._do_command(text):
                await self._turn(commands.with_files(text))
        except SkillsUseError as error:
            self.failure = error
            output.complain(_OPTION.sub(r"/model \1", str(error)))

    def status(self) -> str:
        """Return model, active skills and tokens, as far as they fit; the tokens are dropped last."""
        runtime = self.runtime
        model = runtime.provider.model
        tokens = f"{runtime.trace.totals.total:,} tokens"
        skills = ", ".join(runtime.active_skills) or "no skill in use"
        lines = [
            f"{runtime.provider.name}/{model} · {skills} · {tokens}",
            f"{model} · {skills} · {tokens}",
            f"{skills} · {tokens}",
        ]
        width = output.console(stderr=True).width
        return next((line for line in lines if len(line) <= width), tokens)

    async def _turn(self, text: str) -> None:
        """Answer; Ctrl-C ends the answer and not the program."""
        watch = Stopwatch()
        self.switches.before_turn()
        self._answering = asyncio.create_task(self._say(text))
        self._stop_on_ctrl_c()
        try:
            await self._answering
        except asyncio.CancelledError:
            output.remark("\nStopped.")
        finally:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
            self._answering = None
            self.tree.finish(watch.seconds, self.runtime.conversation.id)

    def _stop_on_ctrl_c(self) -> None:
        if self._answering is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._answering.cancel)

    async def _fetch_first(self) -> None:
        """Fetch a missing model, after a question at a terminal."""
        provider = self.runtime.provider
        needed = provider.download()
        if needed is None:
            return
        notice = about_download(needed)
        if self.terminal is None:
            output.remark(notice)
        elif await self._answer(
            notice, [("model", provider.model, "")], "Fetch it now? [y]es, [n]o:"
        ) not in ("y", "yes"):
            raise ModelFileError("Nothing was fetched, so no model can answer. Another one: /model NAME")
        await in_daemon_thread(provider.fetch)

    async def _say(self, text: str) -> None:
        await self._fetch_first()
        self.runtime.name_files(text)
        if self.screen is not None:
            try:
                async for piece in self.runtime.turn(text):
                    self.screen.text(piece)
            finally:
                self.screen.finish()
            return
        async for piece in self.runtime.turn(text):
            sys.stdout.write(strip_hidden(piece))
            sys.stdout.flush()
        sys.stdout.write("\n")
        sys.stdout.flush()

    async def _do_command(self, text: str) -> bool:
        """Run a command; return False for a request to the model."""
        command, _, rest = text.partition(" ")
        _, action = COMMANDS.get(command, ("", None))
        if action is not None:
            done = action(self, rest.strip())
            if done is not None:
                await done
        elif command.startswith("!"):
            output.warn(commands.NO_SHELL)
        elif command.startswith("/") and not commands.is_name_of_skill(self.runtime, command):
            output.warn(f"There is no command or skill {command}. See /help and /skills.")
        else:
            return False
        return True

    async def clear(self) -> None:
        await self._switch(replace(self.options, continued=None))
        output.say("Started a new conversation.")

    async def go_on_with(self, identity: str) -> None:
        await self._switch(replace(self.options, continued=identity or LATEST))
        output.say(f"Continuing: {escape_hidden(self.runtime.conversation.title)}")
        self._show_latest()

    def _show_latest(self) -> None:
        """Show the last exchange of a continued conversation."""
        question, answer = latest_exchange(self.runtime.conversation)
        if question and self.screen is not None:
            output.say(f"> {shortened(question, MAX_SHOWN)}", "dim")
            self.screen.text(answer)
            self.screen.finish()

    async def retry(self) -> None:
        question = commands.undo(self.runtime)
        if question is None:
            output.say("Nothing to retry.")
        else:
            await self._turn(question)

    async def use_model(self, name: str) -> None:
        """Continue the conversation with another model."""
        if not name:
            provider = self.runtime.provider
            output.say(f"{provider.name}/{provider.model}. Others: {', '.join(PROVIDERS)}")
            return
        provider_name, slash, model = name.partition("/")
        if slash and provider_name in PROVIDERS:
            options = replace(self.options, provider=provider_name, model=model or None)
        elif name in PROVIDERS:
            options = replace(self.options, provider=name, model=None)
        else:
            options = replace(self.options, provider=self.runtime.provider.name, model=name)
        before, switches = self.runtime, self.switches
        await self._switch(options, same_client=False)
        self.runtime.resume(before.conversation, before.trace.steps)
        self.switches.take_over(switches)
        self.options = options
        output.say(f"Now using {self.runtime.provider.name}/{self.runtime.provider.model}.")

    async def _switch(self, options: Options, *, same_client: bool = True) -> None:
        before, runtime = self.runtime, self._open(options)
        if same_client:
            runtime.client = before.client  # a model is not loaded twice
        else:
            await before.close()
        self.runtime = runtime
        self.switches = SkillSwitches(runtime)

    def _open(self, options: Options) -> AgentRuntime:
        ask = self._ask if self.interactive else None
        observers = None if self.screen is None else self._observers(self.screen)
        return runtime_for(options, ask=ask, show=self.tree, observers=observers)

    def _observers(self, screen: AnswerScreen) -> Observers:
        def step(done: Step) -> None:
            self.tree.step(done)
            screen.step(done)

        def problem(text: str) -> None:
            screen.stop()
            output.warn(text)

        def unaided() -> None:
            screen.stop()
            say_unaided()

        return Observers(self.tree.disclosed, step, problem, screen.activity, screen.activity, unaided)

    def _completions(self) -> list[str]:
        names = self.runtime.skills.provider.get_skill_names()
        return [*(command for command in COMMANDS if command[1].islower()), *(f"/{name}" for name in names)]

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

    async def _ask(self, question: ScriptQuestion | ToolQuestion) -> Decision:
        """Show one fact per line; values chosen by the model are quoted, so they cannot imitate one."""
        if isinstance(question, ToolQuestion):
            given = [f"{name}={value}" for name, value in question.arguments.items()]
            rows = [("tool", question.tool, ""), *_argument_rows(given)]
            rows.append(("skills", ", ".join(question.skills), ""))
            said = await self._answer(
                "The skills in use do not name this tool.", rows, "Call it? [y]es, [n]o:"
            )
            return Decision.ONCE if said in ("y", "yes") else Decision.NO
        wants = "wants to read this folder" if question.may_run else "wants to run"
        rows = [
            ("skill", question.skill.name, ""),
            ("script", question.script, ""),
            *_argument_rows(question.arguments),
            *(("gets" if not number else "", text, "") for number, text in enumerate(question.parts)),
            ("digest", f"{question.digest[:19]}…", ""),
        ]
        said = await self._answer(f"A script {wants}.", rows, _script_prompt(question))
        answers = (decision for decision in Decision if said in (decision.value, decision.value[0]))
        return next(answers, Decision.NO)

    async def _answer(self, title: str, rows: Sequence[tuple[str, str, str]], prompt: str) -> str:
        """Show the facts of a question and return what is typed; Ctrl-C ends the answer, Ctrl-D says no."""
        assert self.terminal is not None
        if self.screen is not None:
            self.screen.stop()
        sys.stdout.flush()
        output.remark(f"\n{title}", "bold")
        output.facts_on_stderr(rows)
        try:
            return (await self.terminal.ask(f"{output.flowing(prompt)} ")).strip().lower()
        except KeyboardInterrupt:
            if self._answering is not None:
                self._answering.cancel()
        except EOFError:
            pass
        finally:
            self._stop_on_ctrl_c()  # the prompt has taken Ctrl-C for itself and does not pass it on
        return ""


def _script_prompt(question: ScriptQuestion) -> str:
    choices = "[o]nce, for this [s]ession, [a]lways"
    if question.may_run:
        return f"Let it read the folder? {choices}, [n]o, it runs without:"
    without = ", [w]ithout the folder" if question.project is not None else ""
    return f"Run it? {choices}{without}, [n]o:"


def _argument_rows(arguments: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the quoted arguments; continuation lines begin with a mark, so none can imitate another fact."""
    width = max(20, output.console(stderr=True).width - 16)
    text = escape_hidden(" ".join(map(quoted, arguments))) or "none"
    first, *others = output.chop(text, width)
    return [("arguments", first, ""), *(("", f"…{part}", "") for part in others)]


def quoted(argument: str) -> str:
    """An argument between quotes, with nothing in it that ends them or begins a line."""
    return json.dumps(argument, ensure_ascii=False)
