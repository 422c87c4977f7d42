"""The embedded model for real: it answers, greets and runs a script.

`agent model install` fetches the model; without it these tests are skipped.
"""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from skillkit.agent.conversations import ConversationStore
from skillkit.agent.local.client import LocalChatClient
from skillkit.agent.local.engine import LocalEngine
from skillkit.agent.local.files import QWEN_CODER, ModelStore, cache_folder
from skillkit.agent.local.provider import LocalProvider
from skillkit.agent.runtime import AgentRuntime, Observers, find_enabled
from skillkit.agent.telemetry import Step
from skillkit.disclosure.tool_result import unfence

MODELS = cache_folder()  # before the tests move the home folder
pytestmark = [
    pytest.mark.model,
    pytest.mark.xdist_group("embedded-model"),
    pytest.mark.skipif(
        not ModelStore(MODELS).installed(QWEN_CODER), reason="the model is not there: agent model install"
    ),
]


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("states")


@pytest.fixture(scope="module")
def engine(states: Path) -> LocalEngine:
    return LocalEngine(ModelStore(MODELS).path(QWEN_CODER), states)


class Loaded(LocalProvider):
    """The embedded model, loaded once for all tests."""

    def __init__(self, engine: LocalEngine) -> None:
        super().__init__()
        self.loaded = engine

    def problem(self) -> None:
        return None

    def client(self) -> LocalChatClient:
        return LocalChatClient(self.loaded, self.model)


@pytest.fixture
def ask(engine: LocalEngine, home: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a request to a new conversation; answers what was said and what was done."""
    monkeypatch.setenv("AGENT_SKILLS", "hello-extended,kalshi-markets")

    async def call(request: str) -> tuple[str, list[Step]]:
        steps: list[Step] = []
        runtime = AgentRuntime(
            Loaded(engine=engine),
            find_enabled(print),
            ConversationStore().new(),
            observers=Observers(step=steps.append),
        )
        return await runtime.answer(request), steps

    return call


def tools(steps: list[Step]) -> list[tuple[str, dict]]:
    return [(step.name, json.loads(step.arguments)) for step in steps if step.kind == "tool"]


async def test_a_plain_question_needs_no_tool(ask) -> None:
    answer, steps = await ask("What is 2+2?")
    assert "4" in answer
    assert tools(steps) == []


async def test_it_greets_with_the_skills_tool_and_says_what_the_tool_said(ask) -> None:
    answer, steps = await ask("Greet Alice in French")
    ((tool, arguments),) = tools(steps)
    assert (tool, arguments["name"]) == ("greet_in_language", "Alice")
    assert arguments["language"] in ("fr", "French", "french")
    assert "Bonjour, Alice" in answer


async def test_it_runs_a_script_in_the_sandbox_and_answers_from_the_output(ask) -> None:
    answer, steps = await ask("Run the advanced_greeting script of hello-extended with --name Ada")
    ran = [step for step in steps if step.name == "script_run"]
    assert json.loads(unfence(ran[0].result))["success"] is True
    assert json.loads(unfence(ran[0].result))["meta"]["backend"] != "none"
    assert "Ada" in answer


async def test_the_next_start_processes_only_what_is_new(ask, engine: LocalEngine, states: Path) -> None:
    await ask("Greet Alice in French")
    engine._processed = ""
    assert engine._slot("erase", "")  # as if the program had just been started
    _, steps = await ask("Greet Bob in French")
    request = next(step for step in steps if step.kind == "model")
    assert request.tokens is not None
    assert request.processed is not None
    assert request.processed < request.tokens.total / 4


def test_nobody_else_on_the_machine_can_use_it(engine: LocalEngine) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{engine.address}/v1/completions", data=b"{}", timeout=60)
    assert refused.value.code == 401
    refused.value.close()


@pytest.mark.skipif(not os.environ.get("CI"), reason="reads 1.1 GB; CI does")
def test_the_bytes_are_the_publishers() -> None:
    assert ModelStore(MODELS).verify(QWEN_CODER)
