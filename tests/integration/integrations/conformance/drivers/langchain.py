"""LangChain's create_agent on LangGraph with a fake chat model."""

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from conformance.script import Driver, Reply, Seen, Turn, in_blocking_run, say
from skillkit.core.authority import Requester
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations.langchain import SkillsMiddleware


class ScriptedChatModel(BaseChatModel):
    """Replies as the driver's model says."""

    driver: Any
    bound: tuple[Any, ...] = ()

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return ScriptedChatModel(driver=self.driver, bound=tuple(tools))

    def _message(self, messages: list[BaseMessage]) -> AIMessage:
        answers: list[ToolMessage] = []
        for message in reversed(messages):
            if not isinstance(message, ToolMessage):
                break
            answers.insert(0, message)
        results = [str(message.content) for message in answers]
        failed = [message.status == "error" for message in answers]
        system = "".join(str(message.content) for message in messages if isinstance(message, SystemMessage))
        functions = [tool["function"] for tool in self.bound if isinstance(tool, dict)]
        tools = {function["name"]: function["parameters"] for function in functions}
        said = [message for message in messages if not isinstance(message, SystemMessage)]
        parts = [json.dumps([message.type, message.content, _calls(message)]) for message in said]
        reply = self.driver.model.answer(Seen(system, tools, results, parts, failed))
        if isinstance(reply, str):
            return AIMessage(reply)
        calls = [
            {"name": call.name, "args": dict(call.arguments), "id": self.driver.model.call_id()}
            for call in reply
        ]
        return AIMessage("", tool_calls=calls)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._message(messages))])

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        message = self._message(messages)
        chunk = AIMessageChunk(content=message.content, tool_calls=message.tool_calls, chunk_position="last")
        yield ChatGenerationChunk(message=chunk)


def _calls(message: BaseMessage) -> list[Any]:
    return [dict(call) for call in message.tool_calls] if isinstance(message, AIMessage) else []


class LangChainDriver(Driver):
    title = "LangChain"

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.saver = InMemorySaver()
        self.begin_conversation()
        self.agent = self._agent()

    def begin_conversation(self) -> None:
        self.config: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}

    def _requester(self, runtime: Any) -> Requester:
        return self.requester or Requester()

    def give_own_tool(self) -> None:
        self.agent = self._agent(tool(say))

    def _agent(self, *own: Any) -> Any:
        return create_agent(
            ScriptedChatModel(driver=self),
            tools=list(own),
            middleware=[SkillsMiddleware(self.provider, requester=self._requester)],
            checkpointer=self.saver,
        )

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        state = await self._run({"messages": [{"role": "user", "content": user}]})
        while state.get("__interrupt__"):
            decisions = []
            for interrupt in state["__interrupt__"]:
                for request in interrupt.value["action_requests"]:
                    turn.asked.append(request["name"])
                    decisions.append({"type": "approve" if approve else "reject"})
            state = await self._run(Command(resume={"decisions": decisions}))
        turn.text = str(state["messages"][-1].content)
        artifacts = [getattr(message, "artifact", None) for message in state["messages"]]
        turn.files = [file["name"] for artifact in artifacts if artifact for file in artifact["files"]]
        return turn

    async def forget(self) -> None:
        await self.agent.aupdate_state(self.config, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})

    async def restart(self) -> None:
        # Everything is in the checkpoint; a new process has a new agent.
        self.agent = self._agent()

    async def _run(self, given: Any) -> Any:
        return await self.agent.ainvoke(given, self.config)


class LangChainBlockingDriver(LangChainDriver):
    variant = "sync"

    async def _run(self, given: Any) -> Any:
        if self.in_thread:
            return await in_blocking_run(self.agent.invoke, given, self.config)
        # Inside a running loop on purpose: that is how a notebook calls it.
        return self.agent.invoke(given, self.config)


class LangChainStreamingDriver(LangChainDriver):
    variant = "streaming"

    async def _run(self, given: Any) -> Any:
        interrupts: Any = ()
        async for kind, chunk in self.agent.astream(given, self.config, stream_mode=["updates", "messages"]):
            if kind == "updates" and "__interrupt__" in chunk:
                interrupts = chunk["__interrupt__"]
        state = await self.agent.aget_state(self.config)
        return {**state.values, "__interrupt__": interrupts}


DRIVERS = (LangChainDriver, LangChainBlockingDriver, LangChainStreamingDriver)
