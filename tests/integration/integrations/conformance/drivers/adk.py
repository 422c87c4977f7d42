"""Google's Agent Development Kit with a scripted model; `dev.py columns peers adk` runs it."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar
from uuid import uuid4

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.artifacts import InMemoryArtifactService
from google.adk.flows.llm_flows.functions import REQUEST_CONFIRMATION_FUNCTION_CALL_NAME
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from conformance.script import Driver, Reply, Seen, Turn, say
from skillkit.core.authority import Requester
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations.adk import SkillsToolset

APP = "app"


class ScriptedLlm(BaseLlm):
    """Replies as the driver's model says."""

    driver: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        parts = [part for content in llm_request.contents for part in content.parts or ()]
        answers: list[Any] = []
        for content in reversed(llm_request.contents):
            responses = [part.function_response for part in content.parts or () if part.function_response]
            if not responses:
                break
            answers = [*responses, *answers]
        results = [str(next(iter(answer.response.values()))) for answer in answers]
        failed = ["error" in answer.response for answer in answers]
        tools = {
            declaration.name: declaration.parameters_json_schema or {}
            for tool in llm_request.config.tools or ()
            for declaration in tool.function_declarations or ()
        }
        sent = [json.dumps(part.model_dump(exclude_none=True, mode="json")) for part in parts]
        prompt = (llm_request.config.system_instruction or "").removeprefix(self.driver.prompt).strip()
        reply = self.driver.model.answer(Seen(prompt, tools, results, sent, failed))
        if isinstance(reply, str):
            made = [types.Part(text=reply)]
        else:
            made = [
                types.Part(
                    function_call=types.FunctionCall(
                        id=self.driver.model.call_id(), name=call.name, args=dict(call.arguments)
                    )
                )
                for call in reply
            ]
        yield LlmResponse(content=types.Content(role="model", parts=made))


class AdkDriver(Driver):
    title = "Google ADK"
    unable: ClassVar[Mapping[str, str]] = {
        "shown_files": "files are artifacts, which the model looks at with ADK's own `load_artifacts`"
    }
    prompt = 'You are an agent. Your internal name is "agent".'

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.sessions = InMemorySessionService()
        self.artifacts = InMemoryArtifactService()
        self.runner = self._runner()
        self.begin_conversation()

    def _runner(self, *own: Any) -> Runner:
        toolset = SkillsToolset(self.provider)
        agent = LlmAgent(
            name="agent",
            model=ScriptedLlm(model="scripted", driver=self),
            tools=[*own, toolset],
            before_tool_callback=toolset.before_tool,
        )
        return Runner(
            app_name=APP, agent=agent, session_service=self.sessions, artifact_service=self.artifacts
        )

    def begin_conversation(self) -> None:
        self.user = self.requester.tenant if self.requester else "user"
        self.session = uuid4().hex
        self.created = False

    def ask_for(self, requester: Requester) -> None:
        super().ask_for(requester)
        self.runner.agent.name = requester.program

    def give_own_tool(self) -> None:
        self.runner = self._runner(say)

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        if not self.created:
            await self.sessions.create_session(app_name=APP, user_id=self.user, session_id=self.session)
            self.created = True
        asked = await self._run([types.Part(text=user)])
        while asked:
            answers = []
            for call in asked:
                turn.asked.append(call.args["originalFunctionCall"]["name"])
                response = types.FunctionResponse(id=call.id, name=call.name, response={"confirmed": approve})
                answers.append(types.Part(function_response=response))
            asked = await self._run(answers)
        turn.files = await self.artifacts.list_artifact_keys(
            app_name=APP, user_id=self.user, session_id=self.session
        )
        return turn

    async def _run(self, parts: list[types.Part]) -> list[types.FunctionCall]:
        asked = []
        message = types.Content(role="user", parts=parts)
        async for event in self.runner.run_async(
            user_id=self.user,
            session_id=self.session,
            new_message=message,
            run_config=RunConfig(max_llm_calls=200),
        ):
            for part in (event.content.parts if event.content else None) or ():
                if part.function_call and part.function_call.name == REQUEST_CONFIRMATION_FUNCTION_CALL_NAME:
                    asked.append(part.function_call)
                if part.text and event.is_final_response():
                    self.model.turn.text = part.text
        return asked

    async def forget(self) -> None:
        self.sessions.sessions[APP][self.user][self.session].events.clear()

    async def restart(self) -> None:
        self.runner = self._runner()


DRIVERS = (AdkDriver,)
