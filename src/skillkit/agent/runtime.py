"""The agent: combines a conversation, a model, skills and memory, and runs turns."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit.agent.approvals import Approvals, Ask, ScriptApproval
from skillkit.agent.compaction import SHARE_OF_CONTEXT, Compaction, compact, tokens_of
from skillkit.agent.conversations import ConversationStore, SavedConversation, UnsavedTurn
from skillkit.agent.exceptions import UnfinishedAnswerError
from skillkit.agent.instructions import BRIEF_INSTRUCTIONS, INSTRUCTIONS
from skillkit.agent.journal import open_journal
from skillkit.agent.memory import Memory
from skillkit.agent.models.provider import UNAIDED, ChatProvider, ready
from skillkit.agent.named_files import find_named_files
from skillkit.agent.settings import Settings, SettingsFile
from skillkit.agent.telemetry import Step, Trace
from skillkit.core.authority import Requester
from skillkit.core.disk import agent_home
from skillkit.core.events import NO_TURN, ConversationTurn
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import Severity
from skillkit.core.threads import in_daemon_thread
from skillkit.disclosure import Disclosure
from skillkit.install.enabled import EnabledSkills

if TYPE_CHECKING:
    from agent_framework import Agent

    from skillkit.agent.history import MemoryProvider
    from skillkit.agent.skills import ProgramSkills

COMPACTION = "compaction"
UNAIDED_ANSWER = "(answered without a tool)"


@dataclass(frozen=True, slots=True)
class Observers:
    """Callbacks for progress and diagnostics."""

    disclosed: "Callable[[Disclosure], object]" = lambda disclosed: None
    step: Callable[[Step], object] = lambda step: None
    problem: Callable[[str], object] = lambda text: None
    activity: Callable[[str], object] = lambda text: None
    """The current activity, for a progress display."""
    printed: Callable[[str], object] = lambda line: None
    """Receives output of a running script; called from other threads."""
    unaided: Callable[[], object] = lambda: None
    """Called after the embedded model answered without a tool call."""


NO_OBSERVERS = Observers()


class AgentRuntime:
    """One conversation with one provider. Construction is cheap; the first turn loads the model and
    skills."""

    def __init__(
        self,
        provider: ChatProvider,
        enabled: EnabledSkills,
        conversation: SavedConversation,
        home: Path | None = None,
        *,
        memory: Memory | None = None,
        ask: Ask | None = None,
        observers: Observers = NO_OBSERVERS,
        client: Any = None,
        settings: Settings | None = None,
        requester: Requester | None = None,
    ) -> None:
        self.provider = provider
        self.enabled = enabled
        self.conversation = conversation
        self.home = agent_home() if home is None else home
        self.memory = memory
        self.ask = ask
        """Asks the user to approve scripts; None without a terminal."""
        self.observers = observers
        self.client = client
        """A chat client of an already loaded provider."""
        self.settings = Settings() if settings is None else settings
        self.requester = requester or Requester("agent", tenant=self.settings.tenant)
        """The requester for the authority; the conversation and the user's files are added."""
        self.store = ConversationStore(self.home)
        self.manager = self.enabled.manager
        self.trace = Trace(
            self.conversation.id,
            self.home,
            on_step=self.observers.step,
            journal=self.manager.journal,
            turn=self._turn,
            price=self.provider.settings.price,
        )
        self.approvals = Approvals(
            self.manager.authority, self.enabled.registry.consents, self.enabled.authority.hidden
        )
        self._agent: Agent[Any] | None = None
        self._skills: ProgramSkills | None = None
        self._unsaved = UnsavedTurn("")
        self._save_problem = self._memory_problem = ""
        self._reported: set[str] = set()
        self._files: dict[Path, None] = {}

    def name_files(self, said: str, folder: Path | None = None) -> list[Path]:
        """Grant scripts read access to the files named in `said`, which must be the user's own message."""
        found = find_named_files(said, folder or Path.cwd())
        self._files.update(dict.fromkeys(found))
        if self._skills is not None:
            self._skills.requester = self._requester
        return found

    @property
    def _requester(self) -> Requester:
        return replace(self.requester, conversation=self.conversation.id, files=tuple(self._files))

    def _turn(self) -> ConversationTurn:
        skills = self._skills
        return NO_TURN if skills is None else ConversationTurn(skills.session.id, skills.session.turn)

    async def turn(self, text: str) -> AsyncIterator[str]:
        """Yield the answer to `text`, piece by piece; every completed step is saved.

        An incomplete answer ends with an UnfinishedAnswerError. After any error, the question and the
        received part of the answer are saved.
        """
        from agent_framework import AgentSession

        self._unsaved = UnsavedTurn(text)
        try:
            agent = self._agent
            if agent is None:
                # Downloading and loading a model is slow; Ctrl-C must not wait for it.
                self.observers.activity(f"loading {self.provider.model}")
                agent = await in_daemon_thread(self._build)
            self.trace.begin_turn()
            self.conversation.settle()
            self.messages_to_send()  # compact first, so that skills dropped by it are inserted again
            self.observers.activity("matching skills")
            session = AgentSession(session_id=self.conversation.id)
            stream = agent.run(text, session=session, stream=True)
            async with aclosing(self._pieces(stream)) as pieces:
                async for piece in pieces:
                    yield piece
        except BaseException as error:
            self._unsaved.keep(self.conversation, stopped=not isinstance(error, Exception))
            if isinstance(error, SkillsUseError) or not isinstance(error, Exception):
                raise
            from skillkit.agent.models.failures import friendly

            known = friendly(error, self.provider)
            raise (UnfinishedAnswerError(str(known)) if self._unsaved.shown else known) from error
        finally:
            if self._skills is not None:
                self.save()
            self._report_unsaved()

    async def _pieces(self, stream: Any) -> AsyncGenerator[str]:
        """Yield the texts of an answer; text after a tool call starts a new paragraph."""
        interrupted, end = False, ""
        async for update in stream:
            if update.text:
                if interrupted and end:
                    yield "\n\n"[len(end) - len(end.rstrip("\n")) :]
                interrupted, end = False, (end + update.text)[-2:]
                self._unsaved.add(update.text)
                yield update.text
            # Message ids are unreliable: some services repeat them.
            interrupted |= any(content.type == "function_call" for content in update.contents)
            if (update.additional_properties or {}).get(UNAIDED):
                self.observers.unaided()
        await stream.get_final_response()

    def resume(self, conversation: SavedConversation, steps: Sequence[Step]) -> None:
        """Continue a conversation of another runtime, with its state."""
        self.conversation = conversation
        self.trace.steps[:0] = steps
        self.trace.session = conversation.id
        self._skills = self._agent = None

    def _note_memory_problem(self, problem: str) -> None:
        self._memory_problem = problem

    def _report_unsaved(self) -> None:
        """Report a failed write once, without failing the answer."""
        for problem in (self._save_problem, self._memory_problem, self.trace.problem):
            if problem and problem not in self._reported:
                self._reported.add(problem)
                self.observers.problem(problem)

    async def answer(self, text: str) -> str:
        """Return the complete answer to `text`."""
        return "".join([piece async for piece in self.turn(text)])

    async def close(self) -> None:
        """Close the provider's connections."""
        if self.client is not None:
            await self.provider.close(self.client)
        self.client = self._agent = None

    @property
    def skills(self) -> "ProgramSkills":
        """Return the skills of this conversation."""
        if self._skills is None:
            self._skills = self._build_skills()
        return self._skills

    @property
    def active_skills(self) -> tuple[str, ...]:
        return self.skills.session.active_ids

    def save(self) -> None:
        """Save the conversation; a failed write does not lose the answer."""
        self.conversation.state["skills"] = self.skills.session.to_data()
        if self.conversation.messages:
            try:
                self.store.save(self.conversation)
            except OSError as error:
                why = f"{error.strerror or error} ({self.home})"
                self._save_problem = f"The conversation could not be saved: {why}. Choose another AGENT_HOME"

    def saved_messages(self, messages: Sequence[dict[str, Any]]) -> None:
        """Append messages that the model has completed."""
        self.conversation.add(messages)
        self._unsaved.saved()
        self.save()

    def messages_to_send(self) -> list[dict[str, Any]]:
        """Return the earlier messages to send, compacted if they do not fit."""
        limit = int(self.provider.context_tokens * SHARE_OF_CONTEXT)
        after = compact(self.conversation.messages, self._compaction, limit)
        if after != self._compaction:
            self._compacted(after)
            self.observers.problem(
                f"The conversation became long: {after.describe(self.conversation.messages)}."
            )
        return after.view(self.conversation.messages)

    def compact_now(self) -> tuple[int, int]:
        """Compact the conversation; return its tokens before and after."""
        messages = self.conversation.messages
        tokens = tokens_of(self._sent())
        after = compact(messages, self._compaction, tokens // 2)
        self._compacted(after)
        self.save()
        return tokens, tokens_of(self._sent())

    def _compacted(self, compaction: Compaction) -> None:
        """Record the compaction; texts of skills dropped by it are inserted again with the next request."""
        self.conversation.state[COMPACTION] = asdict(compaction)
        self.skills.bring_back_lost(self._sent())

    def _sent(self) -> list[dict[str, Any]]:
        """Return the earlier messages as currently sent."""
        return self._compaction.view(self.conversation.messages)

    @property
    def _compaction(self) -> Compaction:
        return Compaction.from_data(self.conversation.state.get(COMPACTION))

    def recollection(self) -> "MemoryProvider | None":
        """Return the provider of remembered facts; None without a memory."""
        from skillkit.agent.history import MemoryProvider

        if self.memory is None:
            return None
        return MemoryProvider(self.memory, self._note_memory_problem, offer=not self.provider.embedded)

    def _build(self) -> "Agent[Any]":
        from agent_framework import Agent

        from skillkit.agent.guard import describe_tool_errors
        from skillkit.agent.history import CallKeeper, ConversationHistory

        skills = self.skills
        providers: list[Any] = [ConversationHistory(self), skills]
        if (recollection := self.recollection()) is not None:
            providers.append(recollection)
        self.client = self.client or ready(self.provider).client()
        describe_tool_errors(self.client, self.settings.tool_calls)
        if self.provider.embedded:
            from skillkit.agent.local.client import TurnSkills

            self.client.use_skills(TurnSkills(self.manager, lambda: self.skills.session))
        self._agent = Agent(
            self.client,
            BRIEF_INSTRUCTIONS if self.provider.embedded else INSTRUCTIONS,
            name="agent",
            default_options=dict(self.provider.options),
            context_providers=providers,
            middleware=[CallKeeper(self), *self._watchers()],
            require_per_service_call_history_persistence=True,
        )
        return self._agent

    def _watchers(self) -> list[Any]:
        """Return the middleware that traces and limits requests of the agent and of forked skills."""
        from skillkit.agent.guard import ResponseGuard, ToolErrors, TurnLimits
        from skillkit.agent.middleware import RequestTracer, ToolTracer

        return [
            ResponseGuard(self.provider),
            RequestTracer(self.trace, lambda: self.skills.listed, self.observers.activity),
            ToolTracer(self.trace, self.observers.activity),
            ToolErrors(),
            TurnLimits(self.trace, self.settings.tool_calls, self.settings.turn_tokens),
        ]

    def _build_skills(self) -> "ProgramSkills":
        from skillkit.agent.hello import HelloTools
        from skillkit.agent.skills import ProgramSkills, disclosure_provider

        provider = disclosure_provider(
            self.manager,
            self.enabled.team.around(self.approvals),
            problem=self.observers.problem,
            printed=self.observers.printed,
            gate=self.settings.gate,
            shown_files=self.provider.settings.kinds_of_shown_files,
        )
        skills = ProgramSkills(
            provider,
            ScriptApproval(self.manager, self.approvals, self.ask),
            self.observers.disclosed,
            () if self.manager.offered_skills() else HelloTools().tools(),
            embedded=self.provider.embedded,
            history=self._sent,
            requester=self._requester,
            models=self.provider.settings.models_of_skills(),
            effort_options=self.provider.effort_options,
            fork_middleware=self._watchers,
        )
        saved = self.conversation.state.get("skills")
        problems = [skills.restore(saved)] if saved else skills.pin(self.settings.pinned_skills)
        for problem in problems:
            if problem is not None:
                self.observers.problem(problem)
        return skills


def find_enabled(problem: Callable[[str], object], search: Sequence[Path] = ()) -> EnabledSkills:
    """Load the skills allowed by AGENT_SKILLS and trust; one that fails to load is reported and skipped."""
    hidden = SettingsFile().load().hidden
    enabled = EnabledSkills(search=search, journal=open_journal(), hidden=hidden)
    for notice in enabled.registry.notices:
        problem(notice)
    if missing := enabled.missing():
        problem(missing)
    for found in enabled.manager.diagnostics:
        if found.severity is Severity.ERROR:
            problem(f"A skill could not be loaded: {found}")
    return enabled
