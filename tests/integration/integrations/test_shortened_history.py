"""Histories that the frameworks themselves shorten: the text of a skill in use stays in sight."""

from pathlib import Path
from typing import Any

import pytest
from conformance.drivers.langchain import LangChainDriver, ScriptedChatModel
from conformance.drivers.pydantic_ai import PydanticAIDriver
from conformance.library import Library, friendly
from conformance.script import Call, Driver
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import GenericFakeChatModel
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from skillkit.integrations.langchain import SkillsMiddleware


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return friendly(tmp_path / "skills")


def keep_two_turns(messages: list[ModelMessage]) -> list[ModelMessage]:
    spoken = [
        place
        for place, message in enumerate(messages)
        if isinstance(message, ModelRequest) and isinstance(message.parts[0], UserPromptPart)
    ]
    return messages[spoken[-2] if len(spoken) > 1 else 0 :]


async def keeps_the_text(driver: Driver) -> None:
    await driver.turn("Good morning.", [[Call("load_skill", {"skill_id": "tide-tables"})], "Done."])
    for day in range(8):
        turn = await driver.turn(f"And on day {day}?", ["High water at noon."])
        assert turn.seen[-1].whole.count("Use the harmonic constants.") == 1, day


@pytest.mark.parametrize("first", [True, False])
async def test_pydantic_ai_processes_the_history(library: Library, first: bool) -> None:
    class Shortening(PydanticAIDriver):
        def _agent(self, *own: Any) -> Agent[None, Any]:
            shorten = ProcessHistory[None](keep_two_turns)
            return Agent(
                FunctionModel(self._respond),
                output_type=[str, DeferredToolRequests],
                capabilities=[self.capability, shorten] if first else [shorten, self.capability],
            )

    await keeps_the_text(Shortening(library.provider))


@pytest.mark.parametrize("first", [True, False])
async def test_langchain_summarises_the_history(library: Library, first: bool) -> None:
    class Summarising(LangChainDriver):
        def _agent(self, *own: Any) -> Any:
            skills = SkillsMiddleware(self.provider)
            summary = GenericFakeChatModel(messages=iter(["They spoke of tides."] * 20))
            shorten = SummarizationMiddleware(summary, trigger=("messages", 6), keep=("messages", 2))
            return create_agent(
                ScriptedChatModel(driver=self),
                middleware=[skills, shorten] if first else [shorten, skills],
                checkpointer=self.saver,
            )

    await keeps_the_text(Summarising(library.provider))
