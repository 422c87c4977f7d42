"""No framework: a loop of a few lines over `SkillTools`."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.script import Driver, Reply, Seen, Turn, say
from skillkit.disclosure import SkillContextProvider, SkillSession, ToolResult
from skillkit.integrations import SkillTools
from skillkit.integrations.conversation import ForkedSkill


class PlainDriver(Driver):
    title = "Plain"

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.messages: list[dict[str, Any]] = []
        self.approved = True
        self.skills = self._skills()

    def _skills(self, session: SkillSession | None = None) -> SkillTools:
        return SkillTools(
            self.provider, session, approve=self._approve, requester=self.requester, fork=self._run_fork
        )

    async def _run_fork(self, forked: ForkedSkill) -> str:
        skills = SkillTools.of(forked.conversation)
        return await self._run(skills, [{"role": "user", "content": forked.request}], self.model.turn)

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn, self.approved = self.model.begin(replies), approve
        self.messages.append({"role": "user", "content": user})
        turn.text = await self._run(self.skills, self.messages, turn)
        return turn

    async def _run(self, skills: SkillTools, messages: list[dict[str, Any]], turn: Turn) -> str:
        results: list[ToolResult] = []
        while True:
            reply = self.model.answer(await self._request(skills, messages, results))
            if isinstance(reply, str):
                messages.append({"role": "assistant", "content": reply})
                return reply
            calls = [
                {
                    "id": self.model.call_id(),
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in reply
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            functions: list[Any] = [call["function"] for call in calls]
            results = await asyncio.gather(*(self._answer(skills, function) for function in functions))
            turn.files += [str(file["name"]) for result in results for file in result.files]
            for call, result in zip(calls, results, strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result.text})
            if (shown := skills.show(results)) is not None:
                messages.append(shown)

    async def _answer(self, skills: SkillTools, function: Mapping[str, Any]) -> ToolResult:
        if self.own_tool and function["name"] == "say":
            if (refused := await skills.refuse("say", function["arguments"])) is not None:
                return refused
            return ToolResult(say(**json.loads(function["arguments"])))
        return await skills.result(function["name"], function["arguments"])

    def begin_conversation(self) -> None:
        self.messages = []
        self.skills = self._skills()

    async def forget(self) -> None:
        self.messages.clear()

    async def restart(self) -> None:
        saved = json.dumps(self.skills.conversation.session.to_data())
        self.skills = self._skills(SkillSession.from_data(json.loads(saved)))

    async def _request(
        self, skills: SkillTools, messages: list[dict[str, Any]], results: list[ToolResult]
    ) -> Seen:
        own = [{"type": "function", "function": {"name": "say", "parameters": {}}}] if self.own_tool else []
        request: Any = await asyncio.to_thread(skills.request, messages, own)
        functions = [tool["function"] for tool in request["tools"]]
        tools = {each["name"]: each["parameters"] for each in functions}
        system, *sent = request["messages"]
        texts, failed = [each.text for each in results], [each.failed for each in results]
        return Seen(system["content"], tools, texts, list(map(json.dumps, sent)), failed)

    async def _approve(self, name: str, arguments: Mapping[str, object]) -> bool:
        self.model.turn.asked.append(name)
        return self.approved


DRIVERS = (PlainDriver,)
