"""Middleware of the framework works around skills: it sees, changes and stops what it did before."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentContext,
    AgentMiddleware,
    AgentResponse,
    ChatContext,
    ChatMiddleware,
    ContextProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    MiddlewareTermination,
)
from openai_server import CallTool, OpenAIServer, Say

from skillkit.agent.conversations import ConversationStore
from skillkit.agent.models.choice import choose
from skillkit.agent.runtime import AgentRuntime, find_enabled
from skillkit.agent.settings import Settings
from skillkit.integrations.agent_framework import SkillsContextProvider

Next = Callable[[], Awaitable[None]]
LOAD = CallTool("load_skill", {"skill_id": "kalshi-markets"})
REQUEST, CALL, TEXT = "What will the future bring?", "load_skill", "Ten scripts over Kalshi"


class Runs(AgentMiddleware):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def process(self, context: AgentContext, call_next: Next) -> None:
        self.seen.append(context.messages[-1].text)
        await call_next()
        if isinstance(context.result, AgentResponse):
            self.seen.append(context.result.text)


class Requests(ChatMiddleware):
    def __init__(self) -> None:
        self.instructions: list[str] = []

    async def process(self, context: ChatContext, call_next: Next) -> None:
        self.instructions.append(str((context.options or {}).get("instructions")))
        await call_next()


class Calls(FunctionMiddleware):
    """Notes the calls of tools; changes what they answer when it is told to."""

    def __init__(self, answer: str | None = None) -> None:
        self.answer = answer
        self.seen: list[str] = []

    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        await call_next()
        self.seen.append(context.function.name)
        if self.answer is not None:
            context.result = self.answer


class NoCalls(FunctionMiddleware):
    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        raise MiddlewareTermination("not today", result="refused")


def of_the_agent() -> ContextProvider:
    runtime = AgentRuntime(choose(Settings(memory=False)), find_enabled(print), ConversationStore().new())
    return runtime.skills


def of_the_library() -> ContextProvider:
    return SkillsContextProvider(find_enabled(print).manager)


@pytest.fixture(params=[of_the_agent, of_the_library])
def skills(request: pytest.FixtureRequest, online: OpenAIServer) -> ContextProvider:
    return request.param()


async def run(skills: ContextProvider, *middleware: Any, stream: bool = False) -> str:
    provider = choose(Settings())
    client = provider.client()
    agent = Agent(client, "You are a sailor.", context_providers=[skills], middleware=list(middleware))
    try:
        if stream:
            return "".join([update.text async for update in agent.run(REQUEST, stream=True)])
        return (await agent.run(REQUEST)).text
    finally:
        await provider.close(client)


@pytest.mark.parametrize("stream", [False, True])
async def test_each_kind_sees_what_it_is_for(skills, online: OpenAIServer, stream: bool) -> None:
    online.replies = [LOAD, Say("Rain.")]
    runs, requests, calls = Runs(), Requests(), Calls()
    assert await run(skills, runs, requests, calls, stream=stream) == "Rain."
    assert runs.seen == ([REQUEST] if stream else [REQUEST, "Rain."])
    assert len(requests.instructions) == 2
    assert all("## Agent Skills" in text for text in requests.instructions)
    assert calls.seen == [CALL]
    assert TEXT in online.requests[-1].spoken[-1][1]


async def test_what_it_makes_of_a_result_is_what_the_model_reads(skills, online: OpenAIServer) -> None:
    online.replies = [LOAD, Say("Done.")]
    await run(skills, Calls(answer="masked"))
    assert online.requests[-1].spoken[-1] == ("tool", "masked")


async def test_what_it_stops_does_not_happen(skills, online: OpenAIServer) -> None:
    online.replies = [LOAD, Say("Never asked.")]
    await run(skills, NoCalls())
    (request,) = online.requests
    assert TEXT not in str(request.body)
