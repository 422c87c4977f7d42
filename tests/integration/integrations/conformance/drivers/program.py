"""The `agent` program itself, with a scripted chat client in place of a provider's."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from conformance.drivers.agent_framework import ScriptedClient
from conformance.script import Call, Driver, Reply, Seen, Turn
from skillkit.agent.approvals import Decision, ScriptQuestion
from skillkit.agent.conversations import ConversationStore, SavedConversation
from skillkit.agent.hello import HelloTools
from skillkit.agent.instructions import INSTRUCTIONS
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.runtime import AgentRuntime
from skillkit.core.authority import Requester
from skillkit.disclosure import SkillContextProvider
from skillkit.install.enabled import EnabledSkills

HARMLESS = "the program's own tools do nothing that a skill would have to be kept from"
_BASIC = {tool.name for tool in HelloTools().tools()}


class ScriptedProvider(ChatProvider):
    """A provider of the program whose client is given to the runtime."""

    name = "scripted"

    @property
    def model(self) -> str:
        return "scripted"

    def problem(self) -> str | None:
        return None

    def client(self) -> Any:
        raise AssertionError("the runtime has its client")


class ProgramDriver(Driver):
    title = "agent program"

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        self.approve = True
        self.runtime = self._runtime(ConversationStore(self.home).new())

    unable: ClassVar[Mapping[str, str]] = {
        "gate_asks": HARMLESS,
        "gate_hides": HARMLESS,
        "told_policy": "the program has one user; its policy is told of the conversation",
        "pinned": "its user pins with `/name`",
        "shown_files": "it tells its user where the files are, who knows what the model can look at",
    }
    own_call = Call("greet_user", {"name": "ahoy", "language": "en"})

    def ask_for(self, requester: Requester) -> None:
        raise NotImplementedError

    def begin_conversation(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        self.runtime = self._runtime(ConversationStore(self.home).new())

    def _runtime(self, conversation: SavedConversation) -> AgentRuntime:
        enabled = EnabledSkills(self.home, bundled=False)
        enabled.manager = self.provider.manager
        return AgentRuntime(
            ScriptedProvider(),
            enabled,
            conversation,
            home=self.home,
            ask=self._ask,
            client=ScriptedClient(self),
        )

    async def _ask(self, question: ScriptQuestion) -> Decision:
        helping = question.arguments == ["--help"]
        self.model.turn.asked.append("script_help" if helping else "script_run")
        return Decision.ONCE if self.approve else Decision.NO

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        self.approve = approve
        turn.text = await self.runtime.answer(user)
        turn.seen[:] = [_without_own(seen) for seen in turn.seen]
        return turn

    async def forget(self) -> None:
        self.runtime.conversation.messages.clear()

    async def restart(self) -> None:
        self.runtime = self._runtime(ConversationStore(self.home).load(self.runtime.conversation.id))

    async def close(self) -> None:
        self.folder.cleanup()


def _without_own(seen: Seen) -> Seen:
    """What the model saw besides the program's own prompt and tools."""
    assert seen.instructions.startswith(INSTRUCTIONS)
    return replace(
        seen,
        instructions=seen.instructions.removeprefix(INSTRUCTIONS).strip(),
        tools={name: schema for name, schema in seen.tools.items() if name not in _BASIC},
    )


DRIVERS = (ProgramDriver,)
