"""The OpenAI Agents SDK with its own scripted model."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from agents import FunctionTool, RunConfig, Runner, RunState
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from conformance.script import Driver, Reply, Seen, Turn
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.openai_agents import SkillAgent, skill_input_filter


class OpenAIAgentsDriver(Driver):
    title = "OpenAI Agents"

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.scripted = ScriptedModel()
        self.conversation = Conversation(provider)
        self.items: list[Any] = []
        self.known_results = 0

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        self.items.append({"role": "user", "content": user})
        self.scripted.extend([ModelStep.respond(self._respond)] * len(replies))
        agent = SkillAgent(name="agent", model=self.scripted, conversation=self.conversation)
        result = await self._run(agent, list(self.items))
        while result.interruptions:
            state: RunState[Any, Any] = result.to_state()
            for asked in result.interruptions:
                turn.asked.append(str(asked.name))
                state.approve(asked) if approve else state.reject(asked)
            result = await self._run(agent, state)
        self.items = result.to_input_list()
        turn.text = str(result.final_output)
        return turn

    async def forget(self) -> None:
        self.items, self.known_results = [], 0

    async def restart(self) -> None:
        saved = json.dumps(self.conversation.session.to_data())
        self.conversation = Conversation(self.provider, SkillSession.from_data(json.loads(saved)))

    async def _run(self, agent: SkillAgent[Any], given: Any) -> Any:
        return await Runner.run(agent, given, max_turns=100, run_config=self._run_config())

    def _run_config(self) -> RunConfig:
        extend = skill_input_filter(self.conversation)
        return RunConfig(tracing_disabled=True, call_model_input_filter=extend)

    def _respond(self, call: ModelCall) -> list[Any]:
        outputs = [item["output"] for item in call.input if item.get("type") == "function_call_output"]
        new, self.known_results = outputs[self.known_results :], len(outputs)
        tools = {tool.name: tool.params_json_schema for tool in call.tools if isinstance(tool, FunctionTool)}
        parts = [json.dumps(item) for item in call.input]
        reply = self.model.answer(Seen(call.system_instructions or "", tools, new, parts))
        if isinstance(reply, str):
            return [assistant_message(reply)]
        return [
            function_call(each.name, json.dumps(each.arguments), call_id=self.model.call_id())
            for each in reply
        ]


class OpenAIAgentsBlockingDriver(OpenAIAgentsDriver):
    variant = "sync"
    unable: ClassVar[Mapping[str, str]] = {"cancellation": "a blocking call cannot be cancelled"}

    async def _run(self, agent: SkillAgent[Any], given: Any) -> Any:
        return await asyncio.to_thread(self._run_blocking, agent, given)

    def _run_blocking(self, agent: SkillAgent[Any], given: Any) -> Any:
        with asyncio.Runner() as runner:
            asyncio.set_event_loop(runner.get_loop())
            return Runner.run_sync(agent, given, max_turns=100, run_config=self._run_config())


class OpenAIAgentsStreamingDriver(OpenAIAgentsDriver):
    variant = "streaming"

    async def _run(self, agent: SkillAgent[Any], given: Any) -> Any:
        result = Runner.run_streamed(agent, given, max_turns=100, run_config=self._run_config())
        try:
            async for _ in result.stream_events():
                pass
        finally:
            result.cancel()
        return result
