"""The conversation and the user's facts as context providers of Agent Framework."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from agent_framework import (
    AgentSession,
    Content,
    ContextProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    HistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

from skillkit.agent.conversations import SavedConversation
from skillkit.agent.exceptions import AgentError
from skillkit.agent.instructions import ABOUT_USER
from skillkit.agent.memory import Memory
from skillkit.agent.telemetry import Next, tool_result_text
from skillkit.integrations.agent_framework_files import unshow_files

if TYPE_CHECKING:
    from skillkit.agent.skills import ProgramSkills


_KEEP = "Keep one short fact that the user stated, for later conversations. Never a secret."


class ConversationKeeper(Protocol):
    """The parts of the running agent that the history needs."""

    conversation: SavedConversation

    @property
    def skills(self) -> "ProgramSkills": ...

    def save(self) -> None: ...

    def messages_to_send(self) -> list[dict[str, Any]]: ...

    def saved_messages(self, messages: Sequence[dict[str, Any]]) -> None: ...


class ConversationHistory(HistoryProvider):
    """Saves the messages to the conversation's file; the framework saves after every model request."""

    def __init__(self, runtime: ConversationKeeper) -> None:
        super().__init__("history")
        self.runtime = runtime

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        sent = [Message.from_dict(message) for message in self.runtime.messages_to_send()]
        return await self.runtime.skills.extend_history(sent)

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.runtime.saved_messages([message_data(message) for message in unshow_files(messages)])


def message_data(message: Message) -> dict[str, Any]:
    """Convert a message to JSON, without fields private to this program."""
    return message.to_dict(exclude={"raw_representation", "additional_properties"})


class CallKeeper(FunctionMiddleware):
    """Saves each tool result immediately, so that no call is repeated after a crash."""

    def __init__(self, runtime: ConversationKeeper) -> None:
        self.runtime = runtime

    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        await call_next()
        result = Content.from_function_result(
            str(context.metadata["call_id"]), result=tool_result_text(context.result)
        )
        self.runtime.conversation.results.append(message_data(Message("tool", [result])))
        self.runtime.save()


class MemoryProvider(ContextProvider):
    """Adds remembered facts to the prompt, and a tool to remember more."""

    def __init__(self, memory: Memory, problem: Callable[[str], object], *, offer: bool = True) -> None:
        super().__init__("memory")
        self.offer = offer
        """Whether the model is offered the tool to remember facts."""
        self.memory = memory
        self.problem = problem

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        said = "\n".join(message.text for message in context.input_messages if message.role == "user")
        try:
            facts = self.memory.recall(said)
            self.memory.learn(said)
            context.extend_tools(self.source_id, self.tools())
        except AgentError as error:
            self.problem(str(error))
            return
        if facts:
            listed = "\n".join(f"- {fact.text}" for fact in facts)
            context.extend_instructions(self.source_id, f"{ABOUT_USER}\n{listed}")

    def tools(self) -> list[FunctionTool]:
        """The tool to remember facts, if enabled."""
        return [FunctionTool(name="remember", description=_KEEP, func=self._remember)] if self.offer else []

    def _remember(self, fact: str) -> str:
        try:
            return "Kept." if self.memory.keep(fact) else "Not kept: it is too long or may hold a secret."
        except AgentError as error:
            return f"Not kept: {error}"
