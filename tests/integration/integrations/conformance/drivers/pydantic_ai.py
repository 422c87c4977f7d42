"""Pydantic AI with its FunctionModel."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from pydantic_ai import (
    Agent,
    CancellationToken,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolDenied,
)
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_core import to_jsonable_python

from conformance.script import Driver, Reply, Seen, Turn, say
from skillkit.core.authority import Requester
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.integrations.pydantic_ai import SkillsCapability


def _sent(part: object) -> str:
    """A part as JSON; no model is told when it was made."""
    fields = to_jsonable_python(part)
    return json.dumps({name: value for name, value in fields.items() if name != "timestamp"})


class PydanticAIDriver(Driver):
    title = "Pydantic AI"

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.history: list[ModelMessage] = []
        self.capability = SkillsCapability[None](provider, requester=self._requester)
        self.agent = self._agent()

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        result = await self._run(user, None)
        while isinstance(result.output, DeferredToolRequests):
            decided: dict[str, Any] = {}
            for asked in result.output.approvals:
                turn.asked.append(asked.tool_name)
                decided[asked.tool_call_id] = True if approve else ToolDenied()
            self.history = result.all_messages()
            result = await self._run(None, DeferredToolResults(approvals=decided))
        self.history = result.all_messages()
        turn.text = result.output
        turn.files = [
            file["name"]
            for message in result.all_messages()
            for part in message.parts
            if isinstance(part, ToolReturnPart) and part.metadata
            for file in part.metadata["files"]
        ]
        return turn

    def _requester(self, context: RunContext[None]) -> Requester:
        return self.requester or Requester()

    def begin_conversation(self) -> None:
        self.history = []

    def give_own_tool(self) -> None:
        self.agent = self._agent(say)

    async def forget(self) -> None:
        self.history = self.history[-1:]

    async def restart(self) -> None:
        sessions = self.capability.toolset.sessions
        saved = json.dumps({key: session.to_data() for key, session in sessions.items()})
        restored = {key: SkillSession.from_data(data) for key, data in json.loads(saved).items()}
        messages = ModelMessagesTypeAdapter.dump_json(self.history)
        self.history = ModelMessagesTypeAdapter.validate_json(messages)
        self.capability = SkillsCapability[None](self.provider, sessions=restored)
        self.agent = self._agent()

    def _agent(self, *own: Any) -> Agent[None, Any]:
        return Agent(
            FunctionModel(self._respond, stream_function=self._stream),
            output_type=[str, DeferredToolRequests],
            tools=own,
            capabilities=[self.capability],
        )

    async def _run(self, user: str | None, decided: DeferredToolResults | None) -> Any:
        return await self.agent.run(user, message_history=self.history, deferred_tool_results=decided)

    def _reply(self, messages: list[ModelMessage], info: AgentInfo) -> Reply:
        last = messages[-1]
        parts = last.parts if isinstance(last, ModelRequest) else []
        answers = [part for part in parts if isinstance(part, ToolReturnPart)]
        results = [str(part.content) for part in answers]
        failed = [part.outcome == "failed" for part in answers]
        tools = {tool.name: tool.parameters_json_schema for tool in info.function_tools}
        parts = [_sent(part) for message in messages for part in message.parts]
        return self.model.answer(Seen(info.instructions or "", tools, results, parts, failed))

    def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reply = self._reply(messages, info)
        if isinstance(reply, str):
            return ModelResponse([TextPart(reply)])
        return ModelResponse(
            [ToolCallPart(each.name, dict(each.arguments), self.model.call_id()) for each in reply]
        )

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        reply = self._reply(messages, info)
        if isinstance(reply, str):
            yield reply
            return
        yield {
            index: DeltaToolCall(each.name, json.dumps(each.arguments), tool_call_id=self.model.call_id())
            for index, each in enumerate(reply)
        }


class PydanticAIBlockingDriver(PydanticAIDriver):
    variant = "sync"

    async def _run(self, user: str | None, decided: DeferredToolResults | None) -> Any:
        token = CancellationToken()
        running = asyncio.create_task(asyncio.to_thread(self._run_blocking, user, decided, token))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            token.cancel()
            await asyncio.wait([running])
            assert isinstance(running.exception(), RunCancelled)
            raise

    def _run_blocking(
        self, user: str | None, decided: DeferredToolResults | None, token: CancellationToken
    ) -> Any:
        with asyncio.Runner() as runner:
            asyncio.set_event_loop(runner.get_loop())
            return self.agent.run_sync(
                user,
                message_history=self.history,
                deferred_tool_results=decided,
                cancellation_token=token,
            )


class PydanticAIStreamingDriver(PydanticAIDriver):
    variant = "streaming"

    async def _run(self, user: str | None, decided: DeferredToolResults | None) -> Any:
        async with self.agent.iter(user, message_history=self.history, deferred_tool_results=decided) as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as stream:
                        async for _ in stream:
                            pass
            return run.result


DRIVERS = (PydanticAIDriver, PydanticAIBlockingDriver, PydanticAIStreamingDriver)
