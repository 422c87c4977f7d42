"""One conversation with a model, which every integration adapts to its framework."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeVar, Unpack

from skillkit.core.authority import Requester, asking_for, current_requester
from skillkit.core.events import Event, Kind
from skillkit.core.foreign_json import parse_json
from skillkit.core.models import SkillMetadata
from skillkit.disclosure import (
    Disclosure,
    Insertion,
    SkillSession,
    Tool,
    ToolResult,
    envelope,
)
from skillkit.disclosure.disclosed import ModelChoice, choice_of
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.messages import Messages, View
from skillkit.disclosure.tool_gate import Admission, outside
from skillkit.disclosure.tool_result import read_shown
from skillkit.disclosure.tool_sources import Approve, Asks, ConversationTools, FixedTools, few_at_once
from skillkit.disclosure.tools import ToolSource
from skillkit.integrations.cancelling import cancellable_call, refuse_cancelled
from skillkit.integrations.default_tools import Skills, default_provider

logger = logging.getLogger(__name__)

Arguments = Mapping[str, object] | str | None
"""Arguments of a tool call: an object, or the JSON text that the model wrote."""

Wrap = Callable[[ToolSource], ToolSource]
"""Puts wrappers of `skillkit.disclosure.tool_sources`, or of your own, around the tools of a conversation."""

Answer = TypeVar("Answer")
HostTool = TypeVar("HostTool")


@dataclass(frozen=True, slots=True)
class ForkedSkill:
    """A skill with `context: fork`, and the new conversation that it runs in."""

    skill: SkillMetadata
    conversation: "Conversation"
    request: str
    """The message of the user with which it begins."""

    @property
    def choice(self) -> ModelChoice:
        """The model and effort that the skill asks for."""
        return choice_of([self.skill])

    @property
    def reads_only(self) -> bool:
        """Whether its `agent` is one that changes nothing, so that it gets no tools that do."""
        return self.skill.agent_only_reads


Fork = Callable[[ForkedSkill], Awaitable[str]]
"""Runs a conversation to its end and returns the final answer."""


class Conversation:
    """Discloses the skills of a provider to one conversation and calls its tools.

    `approve` is for frameworks that cannot ask the user themselves; without it, a tool that needs approval
    is refused. `requester` is passed to the manager's authority; it defaults to the conversation of the
    session. `fork` runs skills with `context: fork`; without it they are followed in this conversation. With
    `reads_only` it has no tools that run or change something.
    """

    def __init__(
        self,
        skills: Skills,
        session: SkillSession | None = None,
        *,
        approve: Approve | None = None,
        asks: Asks | None = None,
        wrap: Wrap | None = None,
        requester: Requester | None = None,
        fork: Fork | None = None,
        reads_only: bool = False,
    ) -> None:
        self.requester = requester
        self.provider = default_provider(skills)
        self.session = SkillSession() if session is None else session
        self._asks = asks
        self._wrap = wrap
        self._approve = approve
        self._reads_only = reads_only
        self._tools = self._wrapped(self.provider)
        self._disclosed: tuple[object, Disclosure] | None = None
        self.among_messages = False
        """Whether the host puts `insertions` among the messages, so that its prompt need not carry them."""
        self.files: list[dict[str, object]] = []
        """Files that scripts made: name, bytes, media_type, digest, path and uri."""
        self._fork: Fork | None = None
        if fork is not None:
            self.fork = fork

    @property
    def asks_in_place(self) -> bool:
        """Whether `approve` is asked and not the framework: a fork runs within a tool, where no framework can
        interrupt the run."""
        return bool(self.session.fork_of)

    @property
    def fork(self) -> Fork | None:
        """The function that runs skills with `context: fork`; a forked conversation starts no others."""
        return self._fork

    @fork.setter
    def fork(self, fork: Fork | None) -> None:
        self._fork = None if self.session.fork_of else fork
        self.session.starts_forks = self._fork is not None

    def disclose(self, messages: Messages = (), **view: Unpack[View]) -> Disclosure:
        """Return the instructions, insertions and tools to add to the request of `messages`."""
        refuse_cancelled()
        with self._asking():
            return self._with_tools(self.provider.disclose(messages, self.session, **view))

    async def adisclose(self, messages: Messages = (), **view: Unpack[View]) -> Disclosure:
        """`disclose` without blocking the event loop."""
        async with few_at_once():
            return await asyncio.to_thread(self.disclose, messages, **view)

    async def adisclose_once(
        self, request: object, messages: Messages = (), **view: Unpack[View]
    ) -> Disclosure:
        """`adisclose` for frameworks that ask for the tools and for the instructions of one request.

        `request` identifies the request: the second call for the same one returns the cached result.
        """
        known = self._disclosed
        if known is not None and known[0] == request:
            return known[1]
        disclosure = await self.adisclose(messages, **view)
        self._disclosed = (request, disclosure)
        return disclosure

    def take_disclosed(self) -> Disclosure | None:
        """Return the latest result of `adisclose_once`, for `insertions`, and forget it."""
        known, self._disclosed = self._disclosed, None
        return None if known is None else known[1]

    def disclosed_note(self) -> str:
        """Return the note of the latest result of `adisclose_once`, for `insertions`."""
        disclosed = self.take_disclosed()
        return "" if disclosed is None else disclosed.note

    async def insertions(
        self, messages: Messages, note: str = "", *, elsewhere: bool = False
    ) -> tuple[Insertion, ...]:
        """Return the insertions for `messages`, another view of the conversation than `disclose` was given.

        Without `elsewhere`, the model will see only `messages`. `note` is that of the disclosure.
        """
        refuse_cancelled()
        if not (note or self.session.active):
            return ()
        with self._asking():
            return await asyncio.to_thread(
                self.provider.insertions, messages, self.session, note, elsewhere=elsewhere
            )

    def _asking(self) -> AbstractContextManager[None]:
        return asking_for(self._asks_for())

    def _asks_for(self) -> Requester:
        """Return the requester for the authority: by default the conversation of the session."""
        outer = current_requester()
        if self.requester is None and outer != Requester():
            return outer
        given = self.requester or Requester()
        return given if given.conversation else replace(given, conversation=self.session.id)

    # The host's own tools

    def admit(self, tool: str) -> Admission:
        """Return whether one of the host's own tools is allowed, needs approval, or is hidden."""
        return self.provider.admit(tool, self.session)

    def gated(
        self,
        tools: Iterable[HostTool],
        name: Callable[[HostTool], str] = attrgetter("name"),
        asking: Callable[[HostTool], HostTool | None] | None = None,
    ) -> list[HostTool]:
        """Return the host's own tools after the gate, without hidden ones.

        `asking` returns a tool for which the framework asks the user, or None where it cannot. Without it,
        such a tool stays as it is and `refuse` decides about each call.
        """
        kept = []
        for tool in tools:
            admission = self.admit(name(tool))
            gated: HostTool | None = tool
            if admission is Admission.ASKS and asking is not None:
                gated = None if self.asks_in_place else asking(tool)
            if gated is not None and admission is not Admission.HIDDEN:
                kept.append(gated)
        return kept

    async def refuse(
        self, tool: str, arguments: Mapping[str, object], *, approved: bool = False
    ) -> ToolResult | None:
        """Return the result instead of a call of one of the host's own tools; None if it may be called.

        `approve` is asked, unless `approved` says that the framework has asked the user already.
        """
        admission = self.admit(tool)
        if admission is Admission.HIDDEN:
            return outside(tool, self.session)
        if admission is Admission.FREE or (approved and not self.asks_in_place):
            return None
        call = Tool(tool, "", {"type": "object", "additionalProperties": True}, _answer_nothing, asks=True)
        answer = await self._tools.approved(call, self.session).call(arguments)
        return answer if answer.failed else None

    # Skills and their tools

    def pin(self, skill: str, arguments: str = "") -> None:
        """Activate a skill for the whole conversation; raises SkillRefusedError if it is refused."""
        with self._asking():
            self.provider.pin(skill, self.session, arguments)

    def tools(self) -> tuple[Tool, ...]:
        """Return the current neutral tools."""
        with self._asking():
            return self._shown(self._tools.tools(self.session))

    async def atools(self) -> tuple[Tool, ...]:
        """`tools` without blocking the event loop."""
        async with few_at_once():
            return await asyncio.to_thread(self.tools)

    def tool(self, name: str) -> Tool | None:
        """Return one tool by its name, without creating the others."""
        with self._asking():
            found = self._tools.tool(name, self.session)
        return None if found is None else self._shown([found])[0]

    async def call(self, name: str, arguments: Arguments = None, *, approved: bool = False) -> ToolResult:
        """Call a tool and return its result; every error is a result too.

        `approved` says that the framework has asked the user already, which none does in a fork.
        """
        with self._asking(), cancellable_call():
            return await self._call(name, arguments, approved=approved and not self.asks_in_place)

    async def _call(self, name: str, arguments: Arguments, *, approved: bool) -> ToolResult:
        try:
            if self.provider.finds_tools_at_once:
                tool = self._tools.tool(name, self.session)
            else:
                tool = await asyncio.to_thread(self._tools.tool, name, self.session)
        except Exception as error:  # from the program's own sources, wrappers and policies
            logger.exception("The tool %s cannot be found", name[:80])
            return ToolResult.failure(name, "execution_failed", f"{type(error).__name__}: {error}")
        if tool is None:
            return ToolResult.failure(name, "not_found", f"There is no tool {name[:80]!r}")
        tool = tool if approved else self._tools.approved(tool, self.session)
        result = await tool.call(_parsed(arguments))
        if files := result.files:
            self.files += files
            if kinds := self.provider.shown_files:
                result = replace(result, shown=await asyncio.to_thread(read_shown, files, kinds))
        return result

    def call_blocking(self, name: str, arguments: Arguments = None, *, approved: bool = False) -> ToolResult:
        """`call` for frameworks that are not asynchronous."""
        return run_blocking(self.call(name, arguments, approved=approved))

    @property
    def model_choice(self) -> ModelChoice:
        """The model and effort requested by the skills of this turn."""
        return self.provider.model_choice(self.session)

    def _forked_result(self, name: str, arguments: str) -> Awaitable[ToolResult] | None:
        """Return the result of a skill that runs as a fork; None for any other."""
        skill = self.provider.manager.find_skill(name)
        if self._fork is None or skill is None or not skill.runs_alone:
            return None
        return self._run_fork(self._fork, name, arguments)

    async def _run_fork(self, fork: Fork, name: str, arguments: str) -> ToolResult:
        try:
            forked = await asyncio.to_thread(self._forked, name, arguments)
        except SkillRefusedError as refused:
            text = envelope.error(name, refused.code, str(refused))
            return ToolResult(text, failed=True, error=refused.code)
        within = forked.conversation.session
        self.provider.manager.journal.record(
            Event(
                Kind.LOADED,
                within.fork_of,
                data={"origin": "model", "fork": within.id},
                conversation=self.session.id,
                turn=self.session.turn,
            )
        )
        result = await fork(forked)
        agent = "" if forked.skill.agent_is_known else forked.skill.agent or ""
        return ToolResult(envelope.fork_result(within.fork_of, result, unread_agent=agent))

    def _forked(self, name: str, arguments: str) -> ForkedSkill:
        skill, identity = self.provider.forkable(name, arguments, self.session)
        session = SkillSession(fork_of=identity)
        session.add_files(self.session.files, self.provider.manager.project_dir)
        within = Conversation(
            self.provider,
            session,
            approve=self._approve,
            asks=self._asks,
            wrap=self._wrap,
            requester=self._asks_for(),
            reads_only=skill.agent_only_reads,
        )
        within.pin(identity, arguments)
        request = f"Carry out the skill {identity}." + (f" Arguments: {arguments}" if arguments else "")
        return ForkedSkill(skill, within, request)

    def _wrapped(self, source: ToolSource) -> ConversationTools:
        return ConversationTools(
            source if self._wrap is None else self._wrap(source),
            approve=self._approve,
            asks=self._asks,
            fork=self._forked_result,
            reads_only=self._reads_only,
            journal=self.provider.manager.journal,
        )

    def _with_tools(self, disclosure: Disclosure) -> Disclosure:
        """Return the disclosure with this conversation's tools, without creating them again."""
        tools = self._wrapped(FixedTools(disclosure.tools)).tools(self.session)
        return replace(disclosure, tools=self._shown(tools))

    def _shown(self, tools: Iterable[Tool]) -> tuple[Tool, ...]:
        """Return the tools as the framework sees them: none asks for approval if `call` does."""
        if not self.asks_in_place:
            return tuple(tools)
        return tuple(replace(tool, asks=False) for tool in tools)


async def _answer_nothing(**arguments: object) -> ToolResult:
    return ToolResult("")


def run_blocking(coroutine: Coroutine[object, object, Answer]) -> Answer:
    """Run `coroutine` and return its result, even inside a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="skillkit-blocking") as thread:
        return thread.submit(asyncio.run, coroutine).result()


def _parsed(arguments: Arguments) -> object:
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return parse_json(arguments or "{}")
    except ValueError:
        return arguments
