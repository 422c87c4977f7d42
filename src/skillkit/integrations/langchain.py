"""Skills for LangChain and LangGraph: an agent middleware, and the tools of skillkit 0.1 and 0.2."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from skillkit.core.extras import pip_install

try:
    from typing import NotRequired

    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
    from langchain.agents.middleware.types import (
        AgentState,
        ModelRequest,
        ModelResponse,
        PrivateStateAttr,
        ToolCallRequest,
    )
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.channels.untracked_value import UntrackedValue
    from langgraph.runtime import Runtime
    from langgraph.types import Command
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:
    raise ImportError(
        f"The LangChain integration needs the package langchain: {pip_install('langchain')}"
    ) from error

from skillkit.core.authority import Requester
from skillkit.core.manager import SkillManager
from skillkit.disclosure import Disclosure, Insertion, SkillSession, ToolResult, with_insertions
from skillkit.disclosure.tool_gate import Admission
from skillkit.disclosure.tool_result import ShownFile
from skillkit.disclosure.tool_sources import Approve, Asks
from skillkit.integrations.conversation import Conversation, ForkedSkill, run_blocking
from skillkit.integrations.default_tools import Paths, Skills, default_provider, manager_of

RequesterOf = Callable[[Any], Requester]

__all__ = ["SkillInput", "SkillsMiddleware", "SkillsState", "create_langchain_tools"]


class SkillsState(AgentState[Any]):
    """State next to the messages: the session as data, and as an object during a run."""

    skill_session: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    live_skill_session: NotRequired[Annotated[SkillSession, UntrackedValue, PrivateStateAttr]]


class SkillsMiddleware(AgentMiddleware[SkillsState, Any, Any]):
    """Gives an agent the skills: instructions and tools for each model call, memory in the agent's state.

    Calls of tools with side effects are reviewed as with HumanInTheLoopMiddleware: the run is
    interrupted until a person has approved or rejected them, which needs a checkpointer.

    A skill with `context: fork` runs as a separate agent, in which `approve` is asked instead. `models`
    maps the `model` of a skill to a model, and `effort_settings` maps its `effort` to model settings;
    without them the program's own apply.
    """

    state_schema = SkillsState

    def __init__(
        self,
        skills: Skills,
        *,
        asks: Asks | None = None,
        approve: Approve | None = None,
        models: Mapping[str, BaseChatModel] | None = None,
        effort_settings: Callable[[str], Mapping[str, Any]] | None = None,
        requester: RequesterOf | None = None,
    ) -> None:
        """`requester` gets a run's runtime, whose `context` is yours, and returns the requester to check."""
        super().__init__()
        self.approve = approve
        self.models = models or {}
        self.effort_settings = effort_settings
        self._requests: WeakKeyDictionary[SkillSession, ModelRequest[Any]] = WeakKeyDictionary()
        self.provider = default_provider(skills)
        self.asks = asks
        self.requester = requester

    # Memory: the framework calls these in asynchronous runs too

    def before_agent(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"live_skill_session": _restored(state)}

    def before_model(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        session = _session(state)
        return {"live_skill_session": session, "skill_session": session.to_data()}

    def after_agent(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"skill_session": _session(state).to_data()}

    # What the model sees

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        conversation = self._conversation(request.state, request.runtime)
        disclosure = conversation.disclose(request.messages, whole_history=True)
        return handler(self._extended(request, disclosure, conversation))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        conversation = self._conversation(request.state, request.runtime)
        disclosure = await conversation.adisclose(request.messages, whole_history=True)
        return await handler(self._extended(request, disclosure, conversation))

    def _extended(
        self, request: ModelRequest[Any], disclosure: Disclosure, conversation: Conversation
    ) -> ModelRequest[Any]:
        """Return the request with the disclosure, and the model and effort that the skills ask for."""
        self._requests[conversation.session] = request
        choice = conversation.model_choice
        effort: Mapping[str, Any] = {}
        if choice.effort is not None and self.effort_settings is not None:
            effort = self.effort_settings(choice.effort)
        ours: list[Any] = [{"type": "function", "function": tool.definition} for tool in disclosure.tools]
        return request.override(
            system_message=_system_message(request.system_message, disclosure.instructions),
            messages=with_insertions(request.messages, disclosure.insertions, _as_message),
            tools=[*conversation.gated(request.tools, _name), *ours],
            model=self.models.get(choice.model or "", request.model),
            model_settings={**request.model_settings, **effort},
        )

    # What the model calls

    def after_model(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Let the framework review the calls in the latest message whose tools need approval."""
        conversation = self._conversation(state, runtime)
        called = {
            call["name"]
            for message in state["messages"][-1:]
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        asking = [name for name in called if _asks(conversation, name)]
        review = HumanInTheLoopMiddleware[SkillsState, Any, Any](
            {name: {"allowed_decisions": ["approve", "reject"]} for name in asking}
        )
        return review.after_model(state, runtime)

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        return run_blocking(self._answer(request)) or handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        return await self._answer(request) or await handler(request)

    async def _answer(self, request: ToolCallRequest) -> ToolMessage | None:
        """Call a skill tool, or refuse one of the agent's own; None if the agent may call it."""
        conversation = self._conversation(request.state, request.runtime)
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        if request.tool is None and conversation.tool(name) is not None:
            return _message(request, await conversation.call(name, arguments, approved=True))
        refused = await conversation.refuse(name, arguments, approved=True)
        return None if refused is None else _message(request, refused)

    def _conversation(self, state: Any, runtime: Any) -> Conversation:
        session = _session(state)
        return Conversation(
            self.provider,
            session,
            approve=self.approve,
            asks=self.asks,
            requester=None if self.requester is None else self.requester(runtime),
            fork=partial(self._fork, session),
        )

    async def _fork(self, session: SkillSession, forked: ForkedSkill) -> str:
        """Run a skill as a separate agent, with the model and the tools of the latest request."""
        request = self._requests[session]
        beside = create_agent(
            request.model,
            tools=[] if forked.reads_only else request.tools,
            system_prompt=request.system_message,
            middleware=[_ForkedMiddleware(self, forked)],
            name=forked.conversation.session.fork_of,
        )
        result = await beside.ainvoke({"messages": [HumanMessage(forked.request)]})
        return str(result["messages"][-1].text)


class _ForkedMiddleware(SkillsMiddleware):
    """The one conversation of a forked skill."""

    def __init__(self, outer: SkillsMiddleware, forked: ForkedSkill) -> None:
        super().__init__(outer.provider, models=outer.models, effort_settings=outer.effort_settings)
        self._forked = forked.conversation

    def _conversation(self, state: Any, runtime: Any) -> Conversation:
        return self._forked


def _asks(conversation: Conversation, name: str) -> bool:
    """Return whether a call needs approval: of a skill tool, or of the agent's own by the gate."""
    tool = conversation.tool(name)
    if tool is not None:
        return tool.asks
    return conversation.admit(name) is Admission.ASKS and not conversation.asks_in_place


def _message(request: ToolCallRequest, result: ToolResult) -> ToolMessage:
    return ToolMessage(
        _content(result),
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
        artifact={"files": files} if (files := result.files) else None,
        status="error" if result.failed else "success",
    )


def _content(result: ToolResult) -> str | list[str | dict[Any, Any]]:
    """Return the text of a result and standard blocks of the files to show to the model."""
    if not result.shown:
        return result.text
    return [{"type": "text", "text": result.text}, *(_block(file) for file in result.shown)]


def _block(file: ShownFile) -> dict[str, Any]:
    data = {"base64": file.base64, "mime_type": file.media_type}
    if file.is_picture:
        return {"type": "image", **data}
    return {"type": "file", **data, "extras": {"filename": file.name}}


def _session(state: SkillsState) -> SkillSession:
    live = state.get("live_skill_session")
    return live if isinstance(live, SkillSession) else _restored(state)


def _restored(state: SkillsState) -> SkillSession:
    data = state.get("skill_session")
    return SkillSession.from_data(data) if data else SkillSession()


def _name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return str(tool.name)
    return str(tool.get("function", tool).get("name"))


def _as_message(insertion: Insertion) -> HumanMessage:
    return HumanMessage(insertion.text)


def _system_message(own: SystemMessage | None, text: str) -> SystemMessage | None:
    """Append our text to the program's system message; content blocks keep their cache marks."""
    if not text:
        return own
    if own is not None and isinstance(own.content, list):
        return own.model_copy(update={"content": [*own.content, {"type": "text", "text": text}]})
    return SystemMessage(f"{own.content}\n\n{text}" if own is not None and own.content else text)


class SkillInput(BaseModel):
    """What a skill takes when it is called as a tool."""

    model_config = ConfigDict(str_strip_whitespace=True)

    arguments: str = Field(default="", description="Arguments to pass to the skill")


def create_langchain_tools(manager: SkillManager | Paths) -> list[StructuredTool]:
    """Return a tool for each skill that a model may be offered; calling it gives the skill's instructions."""
    if not isinstance(manager, SkillManager):
        manager = manager_of(manager)
        manager.discover()
    return [
        StructuredTool(
            name=skill.name,
            description=skill.description,
            args_schema=SkillInput,
            func=partial(manager.invoke_skill, skill.name),
            coroutine=partial(manager.ainvoke_skill, skill.name),
        )
        for skill in manager.offered_skills()
    ]
