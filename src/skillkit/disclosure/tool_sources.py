"""Tool sources that combine other tool sources, and the tools of one conversation."""

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

from skillkit.core.events import NO_JOURNAL, Event, Json, Kind, Writer
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tool_result import ToolResult
from skillkit.disclosure.tools import Argument, Effect, Tool, ToolSource, find_tool, named_skill

logger = logging.getLogger(__name__)

Approve = Callable[[str, Mapping[str, object]], bool | Awaitable[bool]]
"""Ask the user whether a tool may be called with these arguments."""

Asks = Callable[[Tool], bool]
"""Override of `Tool.asks`: the tools that need the user's approval."""

_AT_ONCE = 2


class WrappedTools:
    """Base of wrappers: the tools of another source, each passed through `wrap`."""

    def __init__(self, source: ToolSource) -> None:
        self.source = source

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        """Return the tool with added behaviour; None hides it."""
        return tool

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        wrapped = (self.wrap(tool, session) for tool in self.source.tools(session))
        return tuple(tool for tool in wrapped if tool is not None)

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        found = find_tool(self.source, name, session)
        return None if found is None else self.wrap(found, session)


class FixedTools:
    """The same tools in every conversation."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tuple(tools)

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        return self._tools


class JoinedTools:
    """The tools of several sources, also of those added later; the first of a name wins, and a failing source
    is skipped."""

    def __init__(self, sources: Sequence[ToolSource]) -> None:
        self.sources = sources

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


class ConversationTools(WrappedTools):
    """The tools of a source for one conversation.

    `asks` overrides which tools need the user's approval. `fork` is called with each loaded skill, and
    returns the result of one that runs in a separate conversation. `reads_only` omits tools that run or
    change something. Only a few read-only calls compute at once; running code has separate limits.
    """

    def __init__(
        self,
        source: ToolSource,
        *,
        approve: Approve | None = None,
        asks: Asks | None = None,
        fork: Callable[[str, str], Awaitable[ToolResult] | None] = lambda skill, arguments: None,
        reads_only: bool = False,
        journal: Writer = NO_JOURNAL,
    ) -> None:
        super().__init__(source)
        self.approve = approve
        self.asks = asks
        self.fork = fork
        self.reads_only = reads_only
        self.journal = journal

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        if self.reads_only and tool.effect is not Effect.READS:
            return None
        return replace(tool, handler=partial(self._call, tool), asks=self._decide(tool))

    def approved(self, tool: Tool, session: SkillSession) -> Tool:
        """Return a tool that calls `approve` before each call; without `approve`, calls are refused.

        `approve` receives the arguments as passed to the tool; only a literal True approves. Each question
        and each decision is recorded in the journal.
        """
        return replace(tool, handler=partial(self._ask_first, tool, session)) if tool.asks else tool

    async def _call(self, tool: Tool, /, **arguments: object) -> object:
        if tool.event is Kind.LOADED:
            forked = self.fork(named_skill(arguments), str(arguments.get(Argument.TEXT, "")))
            if forked is not None:
                return await forked
        if tool.effect is not Effect.READS:
            return await tool.handler(**arguments)
        async with few_at_once():
            return await tool.handler(**arguments)

    async def _ask_first(self, tool: Tool, session: SkillSession, /, **arguments: object) -> object:
        if self.approve is None:
            message = (
                f"{tool.name} needs the user's approval and nobody can be asked; "
                "the program has to pass `approve`"
            )
            return ToolResult.failure(tool.name, "permission_denied", message)
        question = _question_event(tool.name, arguments, session)
        self.journal.record(question)
        answer = self.approve(tool.name, {**tool.implied, **arguments})
        allowed = (await answer if inspect.isawaitable(answer) else answer) is True
        kind = Kind.SCRIPT_GRANTED if allowed else Kind.SCRIPT_DENIED
        self.journal.record(replace(question, kind=kind, time=time.time()))
        if not allowed:
            said = f"The user did not approve {tool.name}"
            return ToolResult.failure(tool.name, "permission_denied", said)
        return await tool.handler(**arguments)

    def _decide(self, tool: Tool) -> bool:
        try:
            return tool.asks if self.asks is None else self.asks(tool)
        except Exception:
            logger.exception("Whether %s asks could not be decided, so it does", tool.name)
            return True


def few_at_once() -> asyncio.Semaphore:
    """Limit computing threads to two: more would not finish sooner, but compete with the event loop for the
    interpreter and delay every conversation."""
    loop = asyncio.get_running_loop()
    gate = _gates.get(loop)
    if gate is None:
        gate = _gates[loop] = asyncio.Semaphore(_AT_ONCE)
    return gate


_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def _question_event(tool: str, arguments: Mapping[str, object], session: SkillSession) -> Event:
    """Return the event for a question to the user about a tool call."""
    skill = named_skill(arguments)
    data: dict[str, Json] = {"tool": tool}
    if script := arguments.get(Argument.SCRIPT):
        data["script"] = str(script)[:512]
    digest = session.digest_of(skill)
    return Event(Kind.SCRIPT_ASKED, skill[:128], digest, data, session.id, session.turn)
