"""The program's skills: the integration for Agent Framework, with additions of this program."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_framework import ChatContext, Message, SupportsAgentRun

from skillkit.agent.approvals import ApprovedTools, Decision, ScriptApproval, ToolQuestion
from skillkit.agent.script_answers import ReportedOutputs, find_remedy
from skillkit.core.authority import Authority, Requester
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
from skillkit.disclosure.tool_gate import ToolGate
from skillkit.disclosure.tool_sources import FixedTools, JoinedTools
from skillkit.integrations.agent_framework import EffortOptions, SkillsContextProvider, as_message
from skillkit.integrations.agent_framework_files import show_files
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.default_tools import default_sources
from skillkit.scripts.models import ScriptRunner
from skillkit.scripts.runners import default_runner, runs_here
from skillkit.scripts.tools import ScriptTools

STATE = "skills"
Observer = Callable[[Disclosure], object]


def disclosure_provider(
    manager: SkillManager,
    authority: Authority,
    *,
    problem: Callable[[str], object],
    printed: Callable[[str], object],
    gate: str = "",
    shown_files: Sequence[str] = (),
) -> SkillContextProvider:
    """Return the provider that discloses the program's skills; `authority` grants scripts their
    permissions."""
    settings = DisclosureSettings.from_environment()

    def local_runner() -> ScriptRunner:
        from skillkit.scripts.runner import LocalRunner  # deferred: it imports about fifty modules

        runner = LocalRunner()
        runner.follow = lambda request, line: printed(f"{request.script}: {line}")
        return runner

    runner = local_runner if runs_here() else default_runner()
    outputs = ReportedOutputs(problem)
    scripts = ScriptTools(manager, runner, authority, outputs=outputs, remedy=find_remedy)
    return SkillContextProvider(
        manager,
        settings.max_skills,
        fallback=settings.fallback,
        tool_sources=default_sources(manager, scripts, on_error=lambda error: problem(str(error))),
        run_command=scripts.run_command,
        gate=ToolGate(gate) if gate else None,
        shown_files=shown_files,
    )


class ProgramSkills(SkillsContextProvider):
    """The skills of one conversation of the program, which saves the session in its own file."""

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
            approve=self._ask_about_own,
            wrap=self._with_own_tools,
            requester=requester,
            models=models,
            effort_options=effort_options,
        )
        self.fork_middleware = fork_middleware
        self.approvals = approvals
        self.observer = observer
        self.embedded = embedded
        """Whether the model is embedded, which gets the tools of the skills of a turn and no catalogue."""
        self.history = history
        """The earlier messages as sent; the framework adds them to each request."""
        self.basic = FixedTools(basic)
        self.session = SkillSession()
        self.last: Disclosure | None = None
        self.listed = 0
        """Tokens of the list of skills in the instructions."""

    def restore(self, data: Any) -> str | None:
        """Restore the skills of a saved conversation; return a message if the data is invalid."""
        try:
            self.session = SkillSession.from_data(data)
        except SessionDataError as error:
            return str(error)
        return None

    def pin(self, names: Sequence[str]) -> list[str]:
        """Activate skills for the whole conversation; return a message for each that cannot be activated."""
        problems = []
        for name in names:
            try:
                self.conversation(self.session).pin(name)
            except SkillRefusedError as refused:
                problems.append(f"The skill '{name}' of the setting 'pinned' is not in use: {refused}")
        return problems

    def bring_back_lost(self, sent: Sequence[object]) -> None:
        """Insert the texts of skills missing from the messages with the next request."""
        for lost in plan_compaction(sent, self.session).missing:
            self.session.bring_back(lost)

    def session_in(self, state: dict[str, Any]) -> SkillSession:
        return self.session

    async def _ask_about_own(self, tool: str, arguments: Mapping[str, object]) -> bool:
        """Ask about a tool of the program's own; without anybody to ask, it is refused."""
        ask, question = self.approvals.ask, ToolQuestion(tool, arguments, self.session.active_ids)
        return ask is not None and await ask(question) is not Decision.NO

    def remember(self, conversation: Conversation, state: dict[str, Any]) -> None:
        """Do nothing: the runtime saves the session with the conversation."""

    def visible_messages(self, agent: SupportsAgentRun, context: ChatContext) -> Sequence[object] | None:
        return [*self.history(), *context.messages]

    async def extend_history(self, messages: list[Message]) -> list[Message]:
        """Return the earlier messages of a request, with the texts of skills inserted."""
        insertions = await self.conversation(self.session).insertions(messages, elsewhere=True)
        return show_files(with_insertions(messages, insertions, as_message))

    async def disclose(self, conversation: Conversation, messages: Sequence[Message]) -> Disclosure:
        disclosed = await conversation.adisclose([*self.history(), *messages], elsewhere=True)
        self.listed = 0 if self.embedded else disclosed.tokens.catalogue
        if self.embedded:
            disclosed = replace(disclosed, instructions="")
        self.last = disclosed
        self.observer(disclosed)
        return disclosed

    def _with_own_tools(self, source: ToolSource) -> ToolSource:
        joined = ApprovedTools(JoinedTools([self.basic, source]), self.approvals)
        if not self.embedded:
            return joined  # the same in every request: changed tools invalidate prompt caches
        from skillkit.agent.local.tools import LocalTools

        return LocalTools(joined, self.provider.manager)
