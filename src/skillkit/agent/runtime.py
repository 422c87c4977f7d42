"""The agent: a conversation, a model, skills and memory, put together and run turn by turn."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from skillkit.agent.approvals import Approvals, Ask
from skillkit.agent.conversations import ConversationStore, SavedConversation
from skillkit.agent.hello import HelloTools
from skillkit.agent.instructions import INSTRUCTIONS
from skillkit.agent.memory import Memory
from skillkit.agent.models.failures import friendly
from skillkit.agent.models.provider import ChatProvider, ready
from skillkit.agent.telemetry import Step, Trace, span
from skillkit.core.disk import agent_home
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import Severity

if TYPE_CHECKING:
    from agent_framework import Agent

    from skillkit.agent.skills import SkillProvider
    from skillkit.disclosure import Disclosure
    from skillkit.install.enabled import EnabledSkills


T = TypeVar("T")
WORTH_A_TRY = 0.1
"""The confidence from which a small model gets a skill at once: asking it costs more than the text does."""


@dataclass(frozen=True, slots=True)
class Observers:
    """Who wants to know what happens."""

    disclosed: "Callable[[Disclosure], object]" = lambda disclosed: None
    step: Callable[[Step], object] = lambda step: None
    problem: Callable[[str], object] = lambda text: None


@dataclass
class AgentRuntime:
    """One conversation with one provider. Making it is cheap; the first turn loads what it needs."""

    provider: ChatProvider
    enabled: "EnabledSkills"
    conversation: SavedConversation
    home: Path = field(default_factory=agent_home)
    memory: Memory | None = None
    ask: Ask | None = None
    """Asks the user about scripts; None where nobody can be asked."""
    observers: Observers = Observers()
    client: Any = None
    """A chat client of the provider that is loaded already."""

    def __post_init__(self) -> None:
        self.store = ConversationStore(self.home)
        self.trace = Trace(self.conversation.id, self.home, on_step=self.observers.step)
        self.manager = self.enabled.manager
        self.approvals = Approvals(self.manager.authority, self.enabled.registry.consents)
        self._agent: Agent[Any] | None = None
        self._skills: SkillProvider | None = None

    async def turn(self, text: str) -> AsyncIterator[str]:
        """The answer to `text`, piece by piece; every finished step is on disk."""
        from agent_framework import AgentSession

        try:
            agent = self._agent
            if agent is None:
                # Fetching and loading a model takes its time; Ctrl-C must not wait for it.
                agent = await in_background(self._build)
            self.conversation.settle()
            session = AgentSession(session_id=self.conversation.id)
            stream = agent.run(text, session=session, stream=True)
            speaking = None
            async for update in stream:
                if update.text:
                    if speaking not in (None, update.message_id):
                        yield "\n\n"
                    speaking = update.message_id
                    yield update.text
            await stream.get_final_response()
        except SkillsUseError:
            raise
        except Exception as error:
            raise friendly(error, self.provider) from error
        finally:
            if self._skills is not None:
                self.save()

    async def answer(self, text: str) -> str:
        """The whole answer to `text`."""
        return "".join([piece async for piece in self.turn(text)])

    async def close(self) -> None:
        """Let go of the provider's connections."""
        if self.client is not None:
            await self.provider.close(self.client)
        self.client = self._agent = None

    @property
    def skills(self) -> "SkillProvider":
        """The skills of this conversation."""
        if self._skills is None:
            self._skills = self._build_skills()
        return self._skills

    @property
    def active_skills(self) -> tuple[str, ...]:
        return self.skills.session.active_ids

    def save(self) -> None:
        self.conversation.state["skills"] = dict(self.skills.session.to_data())
        if self.conversation.messages:
            self.store.save(self.conversation)

    def _build(self) -> "Agent[Any]":
        from agent_framework import Agent

        from skillkit.agent.history import ConversationHistory, FinishedCalls, Recollection
        from skillkit.agent.middleware import RequestTracer, ScriptApproval, ToolTracer

        skills = self.skills
        providers: list[Any] = [ConversationHistory(self), skills]
        if self.memory is not None:
            providers.append(Recollection(self.memory, self.observers.problem))
        self.client = self.client or ready(self.provider).client()
        self._agent = Agent(
            self.client,
            INSTRUCTIONS,
            name="agent",
            default_options=dict(self.provider.options),
            context_providers=providers,
            middleware=[
                RequestTracer(self.trace, self._skills_text),
                FinishedCalls(self),
                ToolTracer(self.trace),
                ScriptApproval(self.manager, self.approvals, self.ask),
            ],
            require_per_service_call_history_persistence=True,
        )
        return self._agent

    def _build_skills(self) -> "SkillProvider":
        from skillkit.agent.skills import ScriptToolSource, SkillProvider, ToolsetSource
        from skillkit.disclosure import DisclosureSettings, SkillContextProvider, ToolSource
        from skillkit.matching import SkillMatcher
        from skillkit.scripts import ScriptTools
        from skillkit.toolsets import ToolsetLoader

        wishes = DisclosureSettings.from_environment()
        loader = ToolsetLoader(self.manager)
        sources: list[ToolSource] = [
            ToolsetSource(self.manager, loader, self.observers.problem),
            ScriptToolSource(self.manager, ScriptTools(self.manager, authority=self.approvals)),
        ]
        small_model = self.provider.small
        disclosure = SkillContextProvider(
            self.manager,
            wishes.max_skills,
            fallback=wishes.fallback,
            tool_sources=sources,
            matcher=SkillMatcher(threshold=WORTH_A_TRY) if small_model else None,
        )
        skills = SkillProvider(
            disclosure,
            self.observers.disclosed,
            HelloTools().tools(),
            small_model=small_model,
            said_before=lambda: self.conversation.said,
        )
        problem = skills.restore(self.conversation.state.get("skills"))
        if problem is not None:
            self.observers.problem(problem)
        return skills

    def _skills_text(self) -> str:
        disclosed = self.skills.last
        return disclosed.instructions if disclosed is not None else ""


async def in_background(work: Callable[[], T]) -> T:
    """The result of `work`, done in a thread that does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: Exception | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(cast("T", value))

    def run() -> None:
        value, failure = None, None
        try:
            value = work()
        except Exception as error:
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, daemon=True).start()
    return await outcome


def find_enabled(problem: Callable[[str], object], search: Sequence[Path] = ()) -> "EnabledSkills":
    """The skills that AGENT_SKILLS and trust admit; one that fails to load is reported and left out."""
    from skillkit.install.enabled import EnabledSkills

    with span("skill.load", {}) as collected:
        enabled = EnabledSkills(search=search)
        if collected is not None:
            active = [status.skill.name for status in enabled.report().active]
            found_count = len(enabled.manager.list_skills())
            collected.set_attributes(
                {"skill.names": active, "skill.count": len(active), "skill.found": found_count}
            )
    for notice in enabled.registry.notices:
        problem(notice)
    if missing := enabled.missing():
        problem(missing)
    for found in enabled.manager.diagnostics:
        if found.severity is Severity.ERROR:
            problem(f"A skill could not be loaded: {found}")
    return enabled
