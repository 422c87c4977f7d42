"""No framework: a loop of a few lines over `SkillTools`."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from conformance.script import INLINE, Driver, Reply, Seen, Turn, say
from skillkit.disclosure import SkillContextProvider, SkillSession, ToolResult
from skillkit.integrations import SkillTools


class PlainDriver(Driver):
    title = "Plain"
    unable: ClassVar[Mapping[str, str]] = {"forked": INLINE}

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.messages: list[dict[str, Any]] = []
        self.approved = True
        self.skills = SkillTools(provider, approve=self._approve)

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn, self.approved = self.model.begin(replies), approve
        self.messages.append({"role": "user", "content": user})
        results: list[ToolResult] = []
        while True:
            reply = self.model.answer(await self._request(results))
            if isinstance(reply, str):
                self.messages.append({"role": "assistant", "content": reply})
                turn.text = reply
                return turn
            calls = [
                {
                    "id": self.model.call_id(),
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in reply
            ]
            self.messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            functions: list[Any] = [call["function"] for call in calls]
            results = await asyncio.gather(*map(self._answer, functions))
            turn.files += [str(file["name"]) for result in results for file in result.files]
            for call, result in zip(calls, results, strict=True):
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result.text})
            if (shown := self.skills.show(results)) is not None:
                self.messages.append(shown)

    async def _answer(self, function: Mapping[str, Any]) -> ToolResult:
        if self.own_tool and function["name"] == "say":
            if (refused := await self.skills.refuse("say", function["arguments"])) is not None:
                return refused
            return ToolResult(say(**json.loads(function["arguments"])))
        return await self.skills.result(function["name"], function["arguments"])

    def begin_conversation(self) -> None:
        self.messages = []
        self.skills = SkillTools(self.provider, approve=self._approve, requester=self.requester)

    async def forget(self) -> None:
        self.messages.clear()

    async def restart(self) -> None:
        saved = json.dumps(self.skills.conversation.session.to_data())
        session = SkillSession.from_data(json.loads(saved))
        self.skills = SkillTools(self.provider, session, approve=self._approve)

    async def _request(self, results: list[ToolResult]) -> Seen:
        own = [{"type": "function", "function": {"name": "say", "parameters": {}}}] if self.own_tool else []
        request: Any = await asyncio.to_thread(self.skills.request, self.messages, own)
        functions = [tool["function"] for tool in request["tools"]]
        tools = {each["name"]: each["parameters"] for each in functions}
        system, *messages = request["messages"]
        texts, failed = [each.text for each in results], [each.failed for each in results]
        return Seen(system["content"], tools, texts, list(map(json.dumps, messages)), failed)

    async def _approve(self, name: str, arguments: Mapping[str, object]) -> bool:
        self.model.turn.asked.append(name)
        return self.approved


DRIVERS = (PlainDriver,)
