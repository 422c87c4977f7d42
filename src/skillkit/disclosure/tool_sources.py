"""Tool sources made of tool sources: each adds one behaviour to the tools of another."""

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from skillkit.core.events import NO_JOURNAL, Event, Json, Kind, Writer
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tool_result import ToolResult
from skillkit.disclosure.tools import Effect, Tool, ToolSource, find_tool

logger = logging.getLogger(__name__)

Approve = Callable[[str, Mapping[str, object]], bool | Awaitable[bool]]
"""Asks the user whether a tool may be called with these arguments."""

_AT_ONCE = 2


class WrappedTools:
    """The tools of another source, each as `wrap` leaves it; the base of the wrappers."""

    def __init__(self, source: ToolSource) -> None:
        self.source = source

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        """The tool with the behaviour added; None hides it."""
        return tool

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        wrapped = (self.wrap(tool, session) for tool in self.source.tools(session))
        return tuple(tool for tool in wrapped if tool is not None)

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        found = find_tool(self.source, name, session)
        return None if found is None else self.wrap(found, session)


class FixedTools:
    """These tools, in every conversation."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tuple(tools)

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        return self._tools


class JoinedTools:
    """The tools of several sources; of two with one name the first is used, a source that fails has none."""

    def __init__(self, sources: Sequence[ToolSource]) -> None:
        self.sources = tuple(sources)

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        found: dict[str, Tool] = {}
        for source in self.sources:
            try:
                tools = source.tools(session)
            except Exception:
                logger.exception("The tool source %r failed; its tools are left out", source)
                continue
            for tool in tools:
                if found.setdefault(tool.name, tool) is not tool:
                    logger.warning("Tool name collision: '%s' is offered twice (using first)", tool.name)
        return tuple(found.values())

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        for source in self.sources:
            try:
                found = find_tool(source, name, session)
            except Exception:
                logger.exception("The tool source %r failed", source)
                continue
            if found is not None:
                return found
        return None


class Asking(WrappedTools):
    """Decides anew which tools ask: `Asking(source, lambda tool: tool.effect is not Effect.READS)`."""

    def __init__(self, source: ToolSource, asks: Callable[[Tool], bool]) -> None:
        super().__init__(source)
        self.asks = asks

    def wrap(self, tool: Tool, session: SkillSession) -> Tool:
        try:
            asks = self.asks(tool)
        except Exception:
            logger.exception("Whether %s asks could not be decided, so it does", tool.name)
            asks = True
        return replace(tool, asks=asks)


class Approved(WrappedTools):
    """Asks the user before each call of a tool that asks; without anybody to ask, refuses it.

    `approve` is given the arguments as the tool will have them; only a plain True is a yes. Each question
    and each answer is written into `journal`.
    """

    def __init__(self, source: ToolSource, approve: Approve | None, journal: Writer = NO_JOURNAL) -> None:
        super().__init__(source)
        self.approve = approve
        self.journal = journal

    def wrap(self, tool: Tool, session: SkillSession) -> Tool:
        if not tool.asks:
            return tool

        async def ask_first(**arguments: object) -> object:
            if self.approve is None:
                message = (
                    f"{tool.name} needs the user's approval and nobody can be asked; "
                    "the program has to pass `approve`"
                )
                return ToolResult.failure(tool.name, "permission_denied", message)
            question = question_event(tool.name, arguments, session)
            self.journal.record(question)
            answer = self.approve(tool.name, {**tool.implied, **arguments})
            allowed = (await answer if inspect.isawaitable(answer) else answer) is True
            kind = Kind.SCRIPT_GRANTED if allowed else Kind.SCRIPT_DENIED
            self.journal.record(replace(question, kind=kind, time=time.time()))
            if not allowed:
                said = f"The user did not approve {tool.name}"
                return ToolResult.failure(tool.name, "permission_denied", said)
            return await tool.handler(**arguments)

        return replace(tool, handler=ask_first, asks=False)


class Prefixed(WrappedTools):
    """The tools under names that begin with `prefix` and an underscore."""

    def __init__(self, source: ToolSource, prefix: str) -> None:
        super().__init__(source)
        self.prefix = f"{prefix}_"

    def wrap(self, tool: Tool, session: SkillSession) -> Tool:
        return replace(tool, name=f"{self.prefix}{tool.name}")

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        if not name.startswith(self.prefix):
            return None
        return super().tool(name.removeprefix(self.prefix), session)


class Narrowed(WrappedTools):
    """The tools as `narrow` leaves them: fewer (None), or with fewer choices (`Tool.with_choices`)."""

    def __init__(self, source: ToolSource, narrow: Callable[[Tool, SkillSession], Tool | None]) -> None:
        super().__init__(source)
        self.narrow = narrow

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        return self.narrow(tool, session)


class Limited(WrappedTools):
    """Lets only a few reading tools compute at once; what runs code has limits of its own."""

    def wrap(self, tool: Tool, session: SkillSession) -> Tool:
        if tool.effect is not Effect.READS:
            return tool

        async def wait_for_turn(**arguments: object) -> object:
            async with few_at_once():
                return await tool.handler(**arguments)

        return replace(tool, handler=wait_for_turn)


def few_at_once() -> asyncio.Semaphore:
    """Admit two of the pieces of work that compute in threads: more would not be done sooner, but compete
    with the event loop for the interpreter and make every conversation wait."""
    loop = asyncio.get_running_loop()
    gate = _gates.get(loop)
    if gate is None:
        gate = _gates[loop] = asyncio.Semaphore(_AT_ONCE)
    return gate


_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def question_event(tool: str, arguments: Mapping[str, object], session: SkillSession) -> Event:
    """Return that the user is asked about a call of a tool."""
    skill = arguments.get("skill_id") or ""
    data: dict[str, Json] = {"tool": tool}
    if script := arguments.get("script_name"):
        data["script"] = str(script)[:512]
    digest = session.digest_of(str(skill))
    return Event(Kind.SCRIPT_ASKED, str(skill)[:128], digest, data, session.id, session.turn)
