"""No framework: a loop of a few lines over `SkillTools`."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.script import Driver, Reply, Seen, Turn
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.integrations import SkillTools


class PlainDriver(Driver):
    title = "Plain"

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.messages: list[dict[str, Any]] = []
        self.approved = True
        self.skills = SkillTools(provider, approve=self._approve)

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn, self.approved = self.model.begin(replies), approve
        self.messages.append({"role": "user", "content": user})
        results: list[str] = []
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
            answers = await asyncio.gather(*map(self.skills.answer, calls))
            self.messages.extend(answers)
            results = [str(answer["content"]) for answer in answers]

    async def forget(self) -> None:
        self.messages.clear()

    async def restart(self) -> None:
        saved = json.dumps(self.skills.conversation.session.to_data())
        session = SkillSession.from_data(json.loads(saved))
        self.skills = SkillTools(self.provider, session, approve=self._approve)

    async def _request(self, results: list[str]) -> Seen:
        request: Any = await asyncio.to_thread(self.skills.request, self.messages)
        functions = [tool["function"] for tool in request["tools"]]
        tools = {each["name"]: each["parameters"] for each in functions}
        system, *messages = request["messages"]
        return Seen(system["content"], tools, results, list(map(json.dumps, messages)))

    async def _approve(self, name: str, arguments: Mapping[str, object]) -> bool:
        self.model.turn.asked.append(name)
        return self.approved
