"""What is read when the model is installed is what the first requests begin with."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skillkit.agent.conversations import ConversationStore
from skillkit.agent.models.engine import Reply
from skillkit.agent.models.local import LocalProvider
from skillkit.agent.models.local_client import LocalChatClient
from skillkit.agent.models.prompt_states import PromptStates
from skillkit.agent.prompt_preparation import prepare_prompts
from skillkit.agent.runtime import AgentRuntime, find_enabled


@dataclass
class ReadingEngine:
    """Keeps the beginnings that it is given, with the marks around texts as the real one makes them."""

    states: PromptStates
    prepared: list[list[str]] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    context: int = 8192

    def prepare(self, messages: list[dict[str, str]]) -> None:
        self.prepared.append(self.states.reuse_nonces([turn["content"] for turn in messages]))

    def reply(self, messages: Any, *, fixed: int, on_text: Any, **_: Any) -> Reply:
        self.fixed = self.states.reuse_nonces([turn["content"] for turn in messages[:fixed]])
        on_text('{"answer": "x"}')
        return Reply('{"answer": "x"}', 1, 1, 1, cut=False)


class Reading(LocalProvider):
    def __init__(self, reader: ReadingEngine) -> None:
        super().__init__()
        self.reader = reader

    def problem(self) -> None:
        return None

    def engine(self) -> Any:
        return self.reader


@pytest.mark.parametrize(
    "request_text",
    ["Dance with me", "Say bonjour to Alice", "How does Kalshi decide a market?", "Write a skill"],
)
async def test_the_first_request_begins_with_what_was_prepared(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_text: str
) -> None:
    monkeypatch.setenv("AGENT_SKILLS", "all")
    engine = ReadingEngine(PromptStates(tmp_path / "states", "engine"))
    provider = Reading(reader=engine)
    steps: list[tuple[int, int]] = []
    await prepare_prompts(provider, lambda done, count: steps.append((done, count)))
    assert steps == [(done, 4) for done in range(5)]
    client = LocalChatClient(engine, "tiny")  # type: ignore[arg-type]
    runtime = AgentRuntime(provider, find_enabled(print), ConversationStore().new(), client=client)
    await runtime.answer(request_text)
    assert engine.fixed in engine.prepared
