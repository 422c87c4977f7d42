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
from skillkit.disclosure.disclosed import ModelChoice
from skillkit.disclosure.tool_gate import Admission
from skillkit.disclosure.tool_result import ShownFile
from skillkit.disclosure.tool_sources import Approve, Asks
from skillkit.integrations.conversation import Conversation, ForkedSkill
from skillkit.integrations.default_tools import Paths, Skills, default_provider, manager_of

RequesterOf = Callable[[Any], Requester]

__all__ = ["SkillInput", "SkillsMiddleware", "SkillsState", "create_langchain_tools"]


class SkillsState(AgentState[Any]):
    """What is kept beside the messages: the session as data, and as an object while a run lasts."""

    skill_session: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    live_skill_session: NotRequired[Annotated[SkillSession, UntrackedValue, PrivateStateAttr]]


class SkillsMiddleware(AgentMiddleware[SkillsState, Any, Any]):
    """Gives an agent the skills: instructions and tools for each model call, memory in the agent's state.

    Calls of tools that act on the world are reviewed as with HumanInTheLoopMiddleware: the run is
    interrupted until a person has approved or rejected them, which needs a checkpointer.

    A skill with `context: fork` runs as an agent of its own, in which `approve` is asked instead. `models`
    says which model is meant by the `model` of a skill, and `effort_settings` makes settings of the model
    of its `effort`; without them these are the program's.
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
        """`requester` tells by a run's runtime, whose `context` is yours, for whom the authority is asked."""
        super().__init__()
        self.approve = approve
        self.models = models or {}
        self.effort_settings = effort_settings
        self._requests: WeakKeyDictionary[SkillSession, ModelRequest[Any]] = WeakKeyDictionary()
        self.provider = default_provider(skills)
        self.asks = asks
        self.requester = requester

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
        return {"skill_session": _session(state).to_data()}

    async def aafter_agent(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.after_agent(state, runtime)

    # What the model sees

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        conversation = self._conversation(request.state, request.runtime)
        disclosure = conversation.disclose(request.messages, whole_history=True)
        return handler(self._chosen(_extended(request, disclosure, conversation), conversation, request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        conversation = self._conversation(request.state, request.runtime)
        disclosure = await conversation.adisclose(request.messages, whole_history=True)
        return await handler(
            self._chosen(_extended(request, disclosure, conversation), conversation, request)
        )

    def _chosen(
        self, extended: ModelRequest[Any], conversation: Conversation, request: ModelRequest[Any]
    ) -> ModelRequest[Any]:
        """The request with the model and the effort that the skills of this turn ask for."""
        self._requests[conversation.session] = request
        choice = conversation.model_choice
        return extended.override(
            model=self.models.get(choice.model or "", extended.model),
            model_settings={**extended.model_settings, **self._effort(choice)},
        )

    def _effort(self, choice: ModelChoice) -> Mapping[str, Any]:
        if choice.effort is None or self.effort_settings is None:
            return {}
        return self.effort_settings(choice.effort)

    # What the model calls

    def after_model(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self._review(state, runtime).after_model(state, runtime)

    async def aafter_model(self, state: SkillsState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return await self._review(state, runtime).aafter_model(state, runtime)

    def _review(
        self, state: SkillsState, runtime: Runtime[Any]
    ) -> HumanInTheLoopMiddleware[SkillsState, Any, Any]:
        """The framework's own review, of those calls in the latest message whose tools ask."""
        conversation = self._conversation(state, runtime)
        called = {
            call["name"]
            for message in state["messages"][-1:]
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        asking = [name for name in called if _asks(conversation, name)]
        return HumanInTheLoopMiddleware[SkillsState, Any, Any](
            {name: {"allowed_decisions": ["approve", "reject"]} for name in asking}
        )

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        conversation = self._conversation(request.state, request.runtime)
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        if request.tool is not None or conversation.tool(name) is None:
            return _outside(request, conversation) or handler(request)
        result = conversation.call_blocking(name, arguments, approved=True)
        return _message(request, result)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        conversation = self._conversation(request.state, request.runtime)
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        if request.tool is not None or conversation.tool(name) is None:
            return _outside(request, conversation) or await handler(request)
        result = await conversation.call(name, arguments, approved=True)
        return _message(request, result)

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
        """Run a skill as an agent of its own, with the model and the tools of the latest request."""
        request = self._requests[session]
        beside = create_agent(
            self.models.get(forked.choice.model or "", request.model),
            tools=[] if forked.reads_only else request.tools,
            system_prompt=request.system_message,
            middleware=[_ForkedMiddleware(self, forked)],
            name=forked.conversation.session.fork_of,
        )
        result = await beside.ainvoke({"messages": [HumanMessage(forked.request)]})
        return str(result["messages"][-1].text)


class _ForkedMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """The one conversation of a forked skill; what asks is asked about by `approve`, in place."""

    def __init__(self, outer: SkillsMiddleware, forked: ForkedSkill) -> None:
        super().__init__()
        self.conversation = forked.conversation
        self.settings = outer._effort(forked.choice)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        disclosure = await self.conversation.adisclose(request.messages, whole_history=True)
        settings = {**request.model_settings, **self.settings}
        extended = _extended(request, disclosure, self.conversation)
        return await handler(extended.override(model_settings=settings))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        if request.tool is not None or self.conversation.tool(name) is None:
            refused = await self.conversation.refuse(name, arguments)
            return await handler(request) if refused is None else _message(request, refused)
        return _message(request, await self.conversation.call(name, arguments))


def _asks(conversation: Conversation, name: str) -> bool:
    """Whether the user is asked about a call: of a tool of a skill, or of the agent's own by the gate."""
    tool = conversation.tool(name)
    return conversation.admit(name) is Admission.ASKS if tool is None else tool.asks


def _outside(request: ToolCallRequest, conversation: Conversation) -> ToolMessage | None:
    """The answer to a call of one of the agent's own tools that the gate hides."""
    name = request.tool_call["name"]
    hidden = conversation.admit(name) is Admission.HIDDEN
    return _message(request, conversation.outside(name)) if hidden else None


def _message(request: ToolCallRequest, result: ToolResult) -> ToolMessage:
    return ToolMessage(
        _content(result),
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
        artifact={"files": files} if (files := result.files) else None,
        status="error" if result.failed else "success",
    )


def _content(result: ToolResult) -> str | list[str | dict[Any, Any]]:
    """The text of a result, and LangChain's standard blocks of the files that the model is to look at."""
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


def _extended(
    request: ModelRequest[Any], disclosure: Disclosure, conversation: Conversation
) -> ModelRequest[Any]:
    own = [tool for tool in request.tools if conversation.admit(_name(tool)) is not Admission.HIDDEN]
    definitions: list[Any] = [{"type": "function", "function": tool.definition} for tool in disclosure.tools]
    return request.override(
        system_message=_system_message(request.system_message, disclosure.instructions),
        messages=with_insertions(request.messages, disclosure.insertions, _as_message),
        tools=[*own, *definitions],
    )


def _name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return str(tool.name)
    return str(tool.get("function", tool).get("name"))


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


def create_langchain_tools(manager: SkillManager | Paths) -> list[StructuredTool]:
    """A tool for each skill that a model may be offered; calling it gives the skill's instructions."""
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
