"""Skills for LangChain and LangGraph: an agent middleware, and the tools of skillkit 0.1 and 0.2."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

try:
    from typing import NotRequired

    from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
    from langchain.agents.middleware.types import (
        AgentState,
        ModelRequest,
        ModelResponse,
        PrivateStateAttr,
        ToolCallRequest,
    )
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.channels.untracked_value import UntrackedValue
    from langgraph.runtime import Runtime
    from langgraph.types import Command
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:
    raise ImportError(
        "The LangChain integration needs the package langchain: pip install 'skillkit[langchain]'"
    ) from error

from skillkit.disclosure import (
    Disclosure,
    Insertion,
    SkillContextProvider,
    SkillSession,
    ToolResult,
    with_insertions,
)
from skillkit.integrations.conversation import Asks, Conversation, Skills, default_provider

if TYPE_CHECKING:
    from skillkit.core.manager import SkillManager
    from skillkit.core.models import SkillMetadata

__all__ = ["SkillInput", "SkillsMiddleware", "SkillsState", "create_langchain_tools"]


class SkillsState(AgentState[Any]):
    """What is kept beside the messages: the session as data, and as an object while a run lasts."""

    skill_session: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    live_skill_session: NotRequired[Annotated[SkillSession, UntrackedValue, PrivateStateAttr]]


class SkillsMiddleware(AgentMiddleware[SkillsState, Any, Any]):
    """Gives an agent the skills: instructions and tools for each model call, memory in the agent's state.

    Calls of tools that act on the world are reviewed as with HumanInTheLoopMiddleware: the run is
    interrupted until a person has approved or rejected them, which needs a checkpointer.
    """

    state_schema = SkillsState

    def __init__(self, skills: Skills, *, asks: Asks | None = None) -> None:
        super().__init__()
        self.provider = skills if isinstance(skills, SkillContextProvider) else default_provider(skills)
        self.asks = asks

    # Memory

    def before_agent(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"live_skill_session": _restored(state)}

    async def abefore_agent(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.before_agent(state, runtime)

    def before_model(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        session = _session(state)
        return {"live_skill_session": session, "skill_session": session.to_data()}

    async def abefore_model(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.before_model(state, runtime)

    def after_agent(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"skill_session": dict(_session(state).to_data())}

    async def aafter_agent(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.after_agent(state, runtime)

    # What the model sees

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        conversation = self._conversation(request.state)
        disclosure = conversation.disclose(request.messages, whole_history=True)
        return handler(_extended(request, disclosure))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        conversation = self._conversation(request.state)
        disclosure = await conversation.adisclose(request.messages, whole_history=True)
        return await handler(_extended(request, disclosure))

    # What the model calls

    def after_model(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self._review(state).after_model(state, runtime)

    async def aafter_model(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return await self._review(state).aafter_model(state, runtime)

    def _review(self, state: SkillsState) -> HumanInTheLoopMiddleware[SkillsState, Any, Any]:
        """The framework's own review, of those calls in the latest message whose tools ask."""
        conversation = self._conversation(state)
        called = {
            call["name"]
            for message in state["messages"][-1:]
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        asking = [name for name in called if (tool := conversation.tool(name)) is not None and tool.asks]
        return HumanInTheLoopMiddleware[SkillsState, Any, Any](
            {name: {"allowed_decisions": ["approve", "reject"]} for name in asking}
        )

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        conversation = self._conversation(request.state)
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        if request.tool is not None or conversation.tool(name) is None:
            return handler(request)
        result = conversation.call_blocking(name, arguments, approved=True)
        return _message(request, result)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        conversation = self._conversation(request.state)
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        if request.tool is not None or conversation.tool(name) is None:
            return await handler(request)
        result = await conversation.call(name, arguments, approved=True)
        return _message(request, result)

    def _conversation(self, state: Any) -> Conversation:
        return Conversation(self.provider, _session(state), asks=self.asks)


def _message(request: ToolCallRequest, result: ToolResult) -> ToolMessage:
    return ToolMessage(
        result.text,
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
        status="error" if result.failed else "success",
    )


def _session(state: SkillsState) -> SkillSession:
    live = state.get("live_skill_session")
    return live if isinstance(live, SkillSession) else _restored(state)


def _restored(state: SkillsState) -> SkillSession:
    data = state.get("skill_session")
    return SkillSession.from_data(data) if data else SkillSession()


def _extended(request: ModelRequest[Any], disclosure: Disclosure) -> ModelRequest[Any]:
    definitions: list[Any] = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in disclosure.tools
    ]
    return request.override(
        system_message=_system_message(request.system_message, disclosure.instructions),
        messages=with_insertions(request.messages, disclosure.insertions, _as_message),
        tools=[*request.tools, *definitions],
    )


def _as_message(insertion: Insertion) -> HumanMessage:
    return HumanMessage(insertion.text)


def _system_message(own: SystemMessage | None, text: str) -> SystemMessage | None:
    """The program's own message with ours after it; content blocks stay blocks, with their cache marks."""
    if not text:
        return own
    if own is not None and isinstance(own.content, list):
        return own.model_copy(update={"content": [*own.content, {"type": "text", "text": text}]})
    return SystemMessage(f"{own.content}\n\n{text}" if own is not None and own.content else text)


class SkillInput(BaseModel):
    """What a skill takes when it is called as a tool."""

    model_config = ConfigDict(str_strip_whitespace=True)

    arguments: str = Field(default="", description="Arguments to pass to the skill")


def create_langchain_tools(manager: "SkillManager") -> list[StructuredTool]:
    """A tool for each skill that a model may be offered; calling it gives the skill's instructions."""
    return [_tool(manager, skill) for skill in manager.offered_skills()]


def _tool(manager: "SkillManager", skill: "SkillMetadata") -> StructuredTool:
    def invoke(arguments: str = "") -> str:
        return manager.invoke_skill(skill.name, arguments)

    async def ainvoke(arguments: str = "") -> str:
        return await manager.ainvoke_skill(skill.name, arguments)

    return StructuredTool(
        name=skill.name,
        description=skill.description,
        args_schema=SkillInput,
        func=invoke,
        coroutine=ainvoke,
    )
