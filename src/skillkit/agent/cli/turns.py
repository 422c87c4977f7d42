"""Parts shared by `agent -p` and the chat: creating the runtime, showing the steps of a turn."""

import logging
import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import takewhile

from skillkit.agent.approvals import Ask
from skillkit.agent.cli import output
from skillkit.agent.cli.overview import obstacle
from skillkit.agent.cli.progress import ProgressBar
from skillkit.agent.conversations import ConversationStore
from skillkit.agent.memory import Memory
from skillkit.agent.models.choice import choose
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.runtime import UNAIDED_ANSWER, AgentRuntime, Observers, find_enabled
from skillkit.agent.settings import Settings, SettingsFile
from skillkit.agent.telemetry import Step
from skillkit.core.text import escape_hidden, one_line, shortened
from skillkit.disclosure import Disclosure
from skillkit.disclosure.tool_result import unfence
from skillkit.install.enabled import EnabledSkills
from skillkit.matching import Match, SkillMatcher

LATEST = "latest"
MAX_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Options:
    """The user's options for this run."""

    provider: str | None = None
    model: str | None = None
    verbose: bool = False
    continued: str | None = None
    """The id of a conversation, or `latest`."""


def runtime_for(
    options: Options,
    *,
    ask: Ask | None = None,
    show: "TurnTree | None" = None,
    observers: Observers | None = None,
) -> AgentRuntime:
    """Return everything a conversation needs; no model is loaded yet."""
    logging.getLogger("skillkit").setLevel(logging.CRITICAL)  # what matters is shown as problems
    logging.getLogger("agent_framework").setLevel(logging.CRITICAL)
    settings = SettingsFile().load()
    store = ConversationStore()
    if options.continued is None:
        conversation = store.new()
    else:
        conversation = store.load(None if options.continued == LATEST else options.continued)
    tree = show or TurnTree(shown=options.verbose)
    tree.shown = tree.shown or settings.verbose
    enabled = find_enabled(output.warn)
    seen = observers or Observers(
        disclosed=tree.disclosed, step=tree.step, problem=output.warn, unaided=say_unaided
    )
    unused = UnusedSkills(enabled, seen.problem, thorough=tree.shown)
    tree.unused = unused

    def disclosed(disclosure: Disclosure) -> None:
        unused.look(runtime.skills.session.latest_request)
        seen.disclosed(disclosure)

    runtime = AgentRuntime(
        chosen_provider(options, settings),
        enabled,
        conversation,
        memory=Memory() if settings.memory else None,
        ask=ask,
        settings=settings,
        observers=replace(seen, disclosed=disclosed),
    )
    return runtime


def chosen_provider(options: Options, settings: Settings) -> ChatProvider:
    """Return the provider, which reports the download of its model on stderr."""
    bar = ProgressBar()
    return choose(settings, options.provider, options.model).reporting(bar.advance, bar.say)


def say_unaided() -> None:
    """Mark an answer that the embedded model gave without a tool."""
    output.remark(UNAIDED_ANSWER, "dim")


class UnusedSkills:
    """Reports each skill that fits a request but may not be used, once, with the command that changes it."""

    def __init__(
        self, enabled: EnabledSkills, say: Callable[[str], object], *, thorough: bool = False
    ) -> None:
        self.enabled = enabled
        self.say = say
        self.thorough = thorough
        """Whether somebody wants to know what came near, where every skill may be used."""
        self.near: tuple[Match, ...] = ()
        """Skills that came near to the last request, or fit it and may not be used."""
        self._said: set[str] = set()
        self._matcher: SkillMatcher | None = None

    def look(self, request: str) -> None:
        manager = self.enabled.manager
        if self._matcher is None:
            skills = manager.list_skills()
            if not self.thorough and not any(map(manager.refusal, skills)):
                return
            self._matcher = SkillMatcher(skills)
        result = self._matcher.explain(request)
        refused = [match for match in result.matches if manager.refusal(match.skill)]
        self.near = (*refused, *result.near)
        unwanted = self.enabled.selection.by_variable and self.enabled.selection.mode == "none"
        for match in () if unwanted else refused:
            refusal, name = self.enabled.status(match.skill).refusal, match.skill.name
            if refusal is not None and refusal.remedy and name not in self._said:
                self._said.add(name)
                self.say(f"{name} fits ({match.score:.2f}) but {obstacle(refusal)}")


class TurnTree:
    """The steps of a turn, as a tree on stderr."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.lines: list[tuple[int, str]] = []
        self.unused: UnusedSkills | None = None

    def disclosed(self, disclosed: Disclosure) -> None:
        self._add(0, "skills")
        for match in disclosed.matched:
            reasons = "; ".join(match.reasons)
            self._add(1, f"matched {match.skill.name} ({match.score:.2f}): {reasons}")
        for name in disclosed.active:
            if name not in {match.skill.canonical_name for match in disclosed.matched}:
                self._add(1, f"active {name}")
        near = self.unused.near if self.unused is not None else ()
        if not disclosed.active:
            nearest = ", ".join(f"{match.skill.name} ({match.score:.2f})" for match in near[:3])
            self._add(1, f"none used; near: {nearest}" if near else "none needed")
        for note in disclosed.notes:
            self._add(1, note)

    def step(self, step: Step) -> None:
        if step.kind == "tool":
            self._add(0, f"tool {step.name}({shortened(step.arguments, MAX_SHOWN)}) {step.seconds:.1f} s")
            self._add(1, shortened(unfence(step.result) or step.result, MAX_SHOWN))
            return
        if step.tokens is not None and not step.tokens.total:
            return  # the result of a tool was the answer
        self._add(0, f"model {step.name} {step.seconds:.1f} s")
        tokens = step.tokens
        if tokens is not None:
            about = "about " if tokens.estimated else ""
            counts = (
                f"tokens: system {tokens.system}, skills {tokens.skills}, tools {tokens.tools}, messages "
                f"{tokens.messages}; {about}{tokens.total} in, {tokens.output} out"
            )
            self._add(1, counts)
            if not self.shown and os.environ.get("LOG_LEVEL", "").lower() == "trace":
                output.remark(counts)
        if step.processed is not None:
            self._add(1, f"{step.processed} prompt tokens processed, the rest was remembered")

    def finish(self, seconds: float, conversation: str) -> None:
        """Draw the tree."""
        if not self.shown:
            return
        self._add(0, f"{seconds:.1f} s, conversation {conversation}")
        for place, (depth, text) in enumerate(self.lines):
            following = [level for level, _ in self.lines[place + 1 :]]
            last = depth not in takewhile(depth.__le__, following)  # of the same branch
            above = ("│  " if 0 in following else "   ") if depth else ""
            begin, go_on = (f"{above}└─ ", f"{above}   ") if last else (f"{above}├─ ", f"{above}│  ")
            sys.stderr.write("\n".join(_wrapped(escape_hidden(text), begin, go_on)) + "\n")
        self.lines.clear()

    def _add(self, depth: int, text: str) -> None:
        self.lines.append((depth, one_line(text)))


def _wrapped(text: str, begin: str, go_on: str) -> list[str]:
    """Lines that fit the terminal; one line where there is none."""
    if not sys.stderr.isatty():
        return [begin + text]
    width = max(40, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent=begin, subsequent_indent=go_on, break_on_hyphens=False)
