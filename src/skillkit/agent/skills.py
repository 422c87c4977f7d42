"""The skills of the program: the integration for Agent Framework, with what only this program does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_framework import ChatContext, Message, SupportsAgentRun

from skillkit.agent.approvals import ScriptApproval
from skillkit.agent.script_answers import ShownOutputs, find_remedy
from skillkit.core.authority import Authority, Requester
from skillkit.core.events import NO_JOURNAL, in_turn
from skillkit.core.manager import SkillManager
from skillkit.disclosure import (
    Disclosure,
    DisclosureSettings,
    SessionDataError,
    SkillContextProvider,
    SkillSession,
    Tool,
    ToolSource,
    plan_compaction,
    with_insertions,
)
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.tool_sources import FixedTools, JoinedTools
from skillkit.integrations.agent_framework import EffortOptions, SkillsContextProvider, as_message
from skillkit.integrations.agent_framework_files import show_files
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.default_tools import default_sources
from skillkit.scripts import LocalRunner, ScriptTools
from skillkit.scripts.runners import default_runner

STATE = "skills"
Observer = Callable[[Disclosure], object]


def disclosure_provider(
    manager: SkillManager,
    authority: Authority,
    *,
    problem: Callable[[str], object],
    printed: Callable[[str], object],
    shown_files: Sequence[str] = (),
) -> SkillContextProvider:
    """What the program discloses of skills; scripts get what `authority` grants them."""
    settings = DisclosureSettings.from_environment()
    runner = default_runner()
    if isinstance(runner, LocalRunner):
        runner.follow = lambda request, line: printed(f"{request.script}: {line}")
    outputs = ShownOutputs(problem)
    scripts = ScriptTools(manager, runner, authority, outputs=outputs, remedy=find_remedy)
    return SkillContextProvider(
        manager,
        settings.max_skills,
        fallback=settings.fallback,
        tool_sources=default_sources(manager, scripts, on_error=lambda error: problem(str(error))),
        run_command=scripts.run_command,
        shown_files=shown_files,
    )


class ProgramSkills(SkillsContextProvider):
    """The skills of one conversation of the program, which keeps the session in its own file."""

    journal = NO_JOURNAL  # most calls ask nobody: `approve` writes down those that do

    def __init__(
        self,
        provider: SkillContextProvider,
        approvals: ScriptApproval,
        observer: Observer = lambda disclosed: None,
        basic: Sequence[Tool] = (),
        *,
        embedded: bool = False,
        history: Callable[[], Sequence[object]] = tuple,
        requester: Requester | None = None,
        models: Mapping[str, str] | None = None,
        effort_options: EffortOptions | None = None,
        fork_middleware: Callable[[], list[Any]] = list,
    ) -> None:
        super().__init__(
            provider,
            STATE,
            approve=self._ask,
            wrap=self._with_own_tools,
            requester=requester,
            models=models,
            effort_options=effort_options,
        )
        self.fork_middleware = fork_middleware
        self.approvals = approvals
        self.observer = observer
        self.embedded = embedded
        """Whether the embedded model is asked, which gets the tools of the skills of a turn and no list."""
        self.history = history
        """The earlier messages as they are sent; the framework adds them to each request."""
        self.basic = FixedTools(basic)
        self.session = SkillSession()
        self.last: Disclosure | None = None

    def restore(self, data: Any) -> str | None:
        """Take up the skills of a saved conversation; return what is wrong when it cannot be done."""
        try:
            self.session = SkillSession.from_data(data)
        except SessionDataError as error:
            return str(error)
        return None

    def pin(self, names: Sequence[str]) -> list[str]:
        """Put skills into use for the whole conversation; return what is wrong with those that cannot be."""
        problems = []
        for name in names:
            try:
                self.conversation({}).pin(name)
            except SkillRefusedError as refused:
                problems.append(f"The skill '{name}' of the setting 'pinned' is not in use: {refused}")
        return problems

    def bring_back_lost(self, sent: Sequence[object]) -> None:
        """Let the texts of skills that are no longer among the messages come with the next request."""
        for lost in plan_compaction(sent, self.session).missing:
            self.session.bring_back(lost)

    def session_in(self, state: dict[str, Any]) -> SkillSession:
        return self.session

    async def _ask(self, tool: str, arguments: Mapping[str, object]) -> bool:
        with in_turn(self.session.id, self.session.turn):
            return await self.approvals.ask_about(tool, arguments)

    def remember(self, conversation: Conversation, state: dict[str, Any]) -> None:
        """Nothing: the runtime saves the session with the conversation."""

    def visible_messages(self, agent: SupportsAgentRun, context: ChatContext) -> Sequence[object] | None:
        return [*self.history(), *context.messages]

    async def extend_history(self, messages: list[Message]) -> list[Message]:
        """The earlier messages of a request with the texts of skills among them."""
        insertions = await self.conversation({}).insertions(messages, elsewhere=True)
        return show_files(with_insertions(messages, insertions, as_message))

    async def disclose(self, conversation: Conversation, messages: Sequence[Message]) -> Disclosure:
        disclosed = await conversation.adisclose([*self.history(), *messages], elsewhere=True)
        if self.embedded:
            disclosed = replace(disclosed, instructions="")
        self.last = disclosed
        self.observer(disclosed)
        return disclosed

    def _with_own_tools(self, source: ToolSource) -> ToolSource:
        joined = JoinedTools([self.basic, source])
        if not self.embedded:
            return joined  # the same in every request: other tools end a prompt cache
        from skillkit.agent.local.tools import LocalTools

        return LocalTools(joined, self.provider.manager)
