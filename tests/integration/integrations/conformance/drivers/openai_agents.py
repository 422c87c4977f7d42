"""The OpenAI Agents SDK with its own scripted model."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from agents import (
    FunctionSpanData,
    FunctionTool,
    RunConfig,
    Runner,
    RunState,
    Span,
    Trace,
    TracingProcessor,
    function_tool,
    set_trace_processors,
)
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from conformance.script import Driver, Reply, Seen, Turn, in_blocking_run, say
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.openai_agents import SkillAgent, skill_input_filter


class FailedCalls(TracingProcessor):
    """Notes of each call of a tool whether its span has an error: the one flag that the SDK has for it."""

    def __init__(self) -> None:
        self.noted: list[bool] = []

    def on_span_end(self, span: Span[Any]) -> None:
        # A call that waits for the user has a span, too, and no output yet.
        if isinstance(span.span_data, FunctionSpanData) and span.span_data.output is not None:
            self.noted.append(span.error is not None)

    def on_trace_start(self, trace: Trace) -> None: ...
    def on_trace_end(self, trace: Trace) -> None: ...
    def on_span_start(self, span: Span[Any]) -> None: ...
    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...


CALLS = FailedCalls()
set_trace_processors([CALLS])


class OpenAIAgentsDriver(Driver):
    title = "OpenAI Agents"

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.scripted = ScriptedModel()
        self.agent = SkillAgent[OpenAIAgentsDriver](
            name="agent", model=self.scripted, conversation=lambda user: user.conversation
        )
        self.begin_conversation()

    def begin_conversation(self) -> None:
        self.conversation = Conversation(self.provider, requester=self.requester)
        self.items: list[Any] = []
        self.known_results = 0

    def give_own_tool(self) -> None:
        self.agent.tools.append(function_tool(say))

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        self.items.append({"role": "user", "content": user})
        self.scripted.extend([ModelStep.respond(self._respond)] * len(replies))
        result = await self._run(list(self.items))
        while result.interruptions:
            state: RunState[Any, Any] = result.to_state()
            for asked in result.interruptions:
                turn.asked.append(str(asked.name))
                state.approve(asked) if approve else state.reject(asked)
            result = await self._run(state)
        self.items = result.to_input_list()
        turn.text = str(result.final_output)
        turn.files = [str(file["name"]) for file in self.conversation.files]
        return turn

    async def forget(self) -> None:
        self.items, self.known_results = [], 0

    async def restart(self) -> None:
        saved = json.dumps(self.conversation.session.to_data())
        self.conversation = Conversation(self.provider, SkillSession.from_data(json.loads(saved)))

    async def _run(self, given: Any) -> Any:
        return await Runner.run(self.agent, given, **self._common())

    def _common(self) -> dict[str, Any]:
        config = RunConfig(
            call_model_input_filter=skill_input_filter(self.agent.conversation),
            tool_not_found_behavior="return_error_to_model",
        )
        return {"context": self, "max_turns": 100, "run_config": config}

    def _respond(self, call: ModelCall) -> list[Any]:
        outputs = [item["output"] for item in call.input if item.get("type") == "function_call_output"]
        new, self.known_results = outputs[self.known_results :], len(outputs)
        failed, CALLS.noted = CALLS.noted, []
        tools = {tool.name: tool.params_json_schema for tool in call.tools if isinstance(tool, FunctionTool)}
        parts = [json.dumps(item) for item in call.input]
        reply = self.model.answer(Seen(call.system_instructions or "", tools, new, parts, failed))
        if isinstance(reply, str):
            return [assistant_message(reply)]
        return [
            function_call(each.name, json.dumps(each.arguments), call_id=self.model.call_id())
            for each in reply
        ]


class OpenAIAgentsBlockingDriver(OpenAIAgentsDriver):
    variant = "sync"

    async def _run(self, given: Any) -> Any:
        return await in_blocking_run(self._run_blocking, given)

    def _run_blocking(self, given: Any) -> Any:
        with asyncio.Runner() as runner:
            asyncio.set_event_loop(runner.get_loop())
            return Runner.run_sync(self.agent, given, **self._common())


class OpenAIAgentsStreamingDriver(OpenAIAgentsDriver):
    variant = "streaming"

    async def _run(self, given: Any) -> Any:
        result = Runner.run_streamed(self.agent, given, **self._common())
        try:
            async for _ in result.stream_events():
                pass
        finally:
            result.cancel()
        return result


DRIVERS = (OpenAIAgentsDriver, OpenAIAgentsBlockingDriver, OpenAIAgentsStreamingDriver)
