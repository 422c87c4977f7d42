"""The `agent` program itself, with a scripted chat client in place of a provider's."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.drivers.agent_framework import ScriptedClient
from conformance.script import Call, Driver, Reply, Seen, Turn
from skillkit.agent.approvals import Decision, ScriptQuestion, ToolQuestion
from skillkit.agent.conversations import ConversationStore, SavedConversation
from skillkit.agent.instructions import INSTRUCTIONS
from skillkit.agent.memory import Memory
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.runtime import AgentRuntime
from skillkit.agent.settings import ProviderSettings, Settings
from skillkit.core.authority import Requester
from skillkit.disclosure import SkillContextProvider
from skillkit.install.enabled import EnabledSkills


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
    own_call = Call("remember", {"fact": "the user says ahoy"})
    own_result = "Kept."

    def __init__(self, provider: SkillContextProvider) -> None:
        super().__init__(provider)
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        self.approve = True
        self.begun = False
        self.runtime = self._runtime(ConversationStore(self.home).new())

    def ask_for(self, requester: Requester) -> None:
        self.requester = requester

    def begin_conversation(self) -> None:
        self.begun = False
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        self.runtime = self._runtime(ConversationStore(self.home).new())

    def _runtime(self, conversation: SavedConversation) -> AgentRuntime:
        enabled = EnabledSkills(self.home, bundled=False)
        enabled.manager = self.provider.manager
        wanted = self.provider
        shown = ProviderSettings(shown_files=",".join(wanted.shown_files) or None)
        pinned = ",".join(wanted.pinned) if isinstance(wanted.pinned, Sequence) else ""
        gate = "" if wanted.gate is None else wanted.gate.outside.value
        return AgentRuntime(
            ScriptedProvider(shown),
            enabled,
            conversation,
            home=self.home,
            memory=Memory(self.home) if self.own_tool else None,
            ask=self._ask,
            client=ScriptedClient(self),
            settings=Settings(pinned=pinned, gate=gate),
            requester=self.requester,
        )

    async def _ask(self, question: ScriptQuestion | ToolQuestion) -> Decision:
        if isinstance(question, ToolQuestion):
            self.model.turn.asked.append(question.tool)
            return Decision.ONCE if self.approve else Decision.NO
        helping = question.arguments == ["--help"]
        self.model.turn.asked.append("script_help" if helping else "script_run")
        return Decision.ONCE if self.approve else Decision.NO

    async def turn(self, user: str, replies: Sequence[Reply], *, approve: bool = True) -> Turn:
        turn = self.model.begin(replies)
        self.approve = approve
        if not self.begun:  # only now it is known what the program is to do
            self.runtime = self._runtime(self.runtime.conversation)
            self.begun = True
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
    """What the model saw besides the program's own prompt."""
    assert seen.instructions.startswith(INSTRUCTIONS)
    return replace(seen, instructions=seen.instructions.removeprefix(INSTRUCTIONS).strip())


DRIVERS = (ProgramDriver,)
