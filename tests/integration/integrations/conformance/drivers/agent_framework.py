"""Microsoft Agent Framework with a scripted chat client."""

import json
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any, ClassVar
from uuid import uuid4

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
    SupportsAgentRun,
    tool,
)

from conformance.script import Driver, Reply, Seen, Turn, say
from skillkit.core.authority import Requester
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations.agent_framework import FILES, INSERTED, SkillsContextProvider

AGAIN = "nobody here sees the messages (agent-framework #4577): what is loaded in a later turn is given again"


class ScriptedClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Replies as the driver's model says."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self.driver = driver

    def _contents(self, messages: Sequence[Message], options: Any) -> list[Content]:
        answers: list[Content] = []
        for message in reversed(messages):
            if INSERTED in message.additional_properties:
                continue  # what a script made is looked at after the results
            if message.role != "tool":
                break
            answers = [*message.contents, *answers]
        results = [str(content.result) for content in answers]
        made = [file for content in answers for file in content.additional_properties.get(FILES, ())]
        self.driver.model.turn.files += [file["name"] for file in made]
        failed = [content.exception is not None for content in answers]
        tools = {tool.name: tool.parameters() for tool in options.get("tools") or ()}
        parts = [json.dumps([str(message.role), *map(_part, message.contents)]) for message in messages]
        seen = Seen(options.get("instructions") or "", tools, results, parts, failed)
        reply = self.driver.model.answer(seen)
        if isinstance(reply, str):
            return [Content.from_text(reply)]
        return [
            Content.from_function_call(self.driver.model.call_id(), call.name, arguments=dict(call.arguments))
            for call in reply
        ]

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Any, **kwargs: Any
    ) -> Any:
        if stream:
            return self._build_response_stream(self._updates(messages, options))
        return self._response(messages, options)

    async def _response(self, messages: Sequence[Message], options: Any) -> ChatResponse[Any]:
        return ChatResponse(messages=[Message("assistant", self._contents(messages, options))])

    async def _updates(self, messages: Sequence[Message], options: Any) -> AsyncIterator[ChatResponseUpdate]:
        for content in self._contents(messages, options):
            yield ChatResponseUpdate(contents=[content], role="assistant")


def _part(content: Content) -> dict[str, Any]:
    """What a client sends of a content."""
    return content.to_dict(exclude={"raw_representation", "additional_properties", "annotations"})


class AgentFrameworkDriver(Driver):
    title = "Agent Framework"

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.agent = self._agent()
        self.begin_conversation()

    def begin_conversation(self) -> None:
        self.session = self.agent.create_session()

    def _requester(self, agent: SupportsAgentRun, session: AgentSession) -> Requester:
        return self.requester or Requester()

    def give_own_tool(self) -> None:
        self.agent = self._agent(tool(approval_mode="never_require")(say))

    def _agent(self, *own: Any) -> Agent[Any]:
        providers = [SkillsContextProvider(self.provider, requester=self._requester)]
        return Agent(ScriptedClient(self), tools=list(own), context_providers=providers)

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        response = await self._run(user)
        while response.user_input_requests:
            answers = []
            for asked in response.user_input_requests:
                turn.asked.append(asked.function_call.name)
                answers.append(asked.to_function_approval_response(approve))
            response = await self._run(Message("user", answers))
        turn.text = response.text
        return turn

    async def forget(self) -> None:
        self.session.state[InMemoryHistoryProvider.DEFAULT_SOURCE_ID]["messages"] = []

    async def restart(self) -> None:
        saved = json.dumps(self.session.to_dict())
        self.agent = self._agent()
        self.session = AgentSession.from_dict(json.loads(saved))

    def _run(self, given: Any) -> Awaitable[Any]:
        return self.agent.run(given, session=self.session)


class AgentFrameworkStreamingDriver(AgentFrameworkDriver):
    variant = "streaming"

    async def _run(self, given: Any) -> Any:
        stream = self.agent.run(given, session=self.session, stream=True)
        async for _ in stream:
            pass
        return await stream.get_final_response()


class ServiceClient(ScriptedClient):
    """A service that keeps the history itself, as OpenAI's Responses API does."""

    STORES_BY_DEFAULT = True

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        self.threads: dict[str, list[Message]] = {}

    async def _response(self, messages: Sequence[Message], options: Any) -> ChatResponse[Any]:
        key = options.get("conversation_id") or uuid4().hex
        thread = self.threads.setdefault(key, [])
        thread.extend(messages)
        reply = Message("assistant", self._contents(thread, options))
        thread.append(reply)
        return ChatResponse(messages=[reply], conversation_id=key)


class AgentFrameworkServiceDriver(AgentFrameworkDriver):
    variant = "service history"
    sees_history = False
    unable: ClassVar[Mapping[str, str]] = {
        "follow_up": AGAIN,
        "restored": AGAIN,
        "stable_prefix": "the service keeps all that it is sent, the note about one request too "
        "(agent-framework #4577)",
    }

    def _agent(self, *own: Any) -> Agent[Any]:
        self.client = ServiceClient(self)
        providers = [SkillsContextProvider(self.provider, requester=self._requester)]
        return Agent(self.client, tools=list(own), context_providers=providers)

    async def forget(self) -> None:
        for thread in self.client.threads.values():
            thread.clear()

    async def restart(self) -> None:
        threads = self.client.threads
        await super().restart()
        self.client.threads = threads


DRIVERS = (AgentFrameworkDriver, AgentFrameworkStreamingDriver, AgentFrameworkServiceDriver)
