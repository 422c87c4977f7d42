"""The embedded model as the framework's chat client; the engine is scripted, all else is real."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, tool

from skillkit.agent.conversations import ConversationStore
from skillkit.agent.exceptions import ProviderError
from skillkit.agent.local.client import LocalChatClient
from skillkit.agent.local.engine import Reply
from skillkit.agent.local.provider import LocalProvider
from skillkit.agent.runtime import AgentRuntime, Observers
from skillkit.install.enabled import EnabledSkills

NONE = '{"tool": "none"}'
ORDINARY = [
    json.loads(line)
    for line in Path(__file__).with_name("ordinary_requests.jsonl").read_text("utf-8").splitlines()
]


class ScriptedEngine:
    """Writes the replies it was given, piece by piece, and keeps what it read."""

    context = 8192

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.read: list[list[dict[str, str]]] = []
        self.grammars: list[str | None] = []
        self.stopped = threading.Event()

    def reply(self, messages: Any, *, grammar: str | None, on_text: Any, **_: Any) -> Reply:
        self.read.append(list(messages))
        self.grammars.append(grammar)
        text = self.replies.pop(0)
        if text == "endless":
            while not on_text("more "):
                pass
            self.stopped.set()
            return Reply("more", 0, 0, 1, cut=False)
        if text == "broken":
            raise ProviderError("The embedded model failed")
        for place in range(0, len(text), 3):
            on_text(text[place : place + 3])
        return Reply(text, 100, 10, len(text) // 3, cut=False)


@tool
def greet(name: str) -> str:
    """Greet a person."""
    return json.dumps({"success": True, "result": f"Hello, {name}!", "message": ""})


def agent_with(engine: ScriptedEngine, *tools: Any) -> Agent[Any]:
    return Agent(LocalChatClient(engine, "tiny"), "Be kind.", tools=list(tools))  # type: ignore[arg-type]


@pytest.fixture
def runtime_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AgentRuntime]:
    """The whole agent with the bundled skills and a scripted engine."""
    monkeypatch.setenv("AGENT_HOME", str(tmp_path))
    enabled = EnabledSkills(environment={"AGENT_SKILLS": "all"})

    def make(engine: ScriptedEngine, observers: Observers | None = None) -> AgentRuntime:
        return AgentRuntime(
            LocalProvider(),
            enabled,
            ConversationStore().new(),
            observers=observers or Observers(),
            client=LocalChatClient(engine, "tiny"),  # type: ignore[arg-type]
        )

    return make


async def test_no_tool_is_answered_by_a_second_prompt_without_json() -> None:
    engine = ScriptedEngine(NONE, "All is well.")
    stream = agent_with(engine, greet).run("How are you?", stream=True)
    pieces = [update.text async for update in stream if update.text]
    final = await stream.get_final_response()
    assert "".join(pieces) == final.text == "All is well."
    assert len(pieces) > 1
    assert final.usage_details["input_token_count"] == 200
    assert final.usage_details["cache_read_input_token_count"] == 180
    assert engine.grammars[0] is not None
    assert engine.grammars[1] is None
    assert engine.read[1] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "How are you?"},
    ]


async def test_without_tools_the_plain_prompt_is_the_only_one() -> None:
    engine = ScriptedEngine("Hi.")
    assert (await agent_with(engine).run("Hi")).text == "Hi."
    assert engine.grammars == [None]


async def test_a_result_is_the_answer_and_the_model_is_not_asked_again() -> None:
    engine = ScriptedEngine('{"tool": "greet", "arguments": {"name": "Al"}}')
    response = await agent_with(engine, greet).run("Greet Al")
    assert response.text == "Hello, Al!"
    assert len(engine.read) == 1


async def test_a_value_that_nobody_named_is_asked_for_once() -> None:
    call = '{"tool": "greet", "arguments": {"name": "Zoe"}}'
    agent = agent_with(ScriptedEngine(call, call), greet)
    session = agent.create_session()
    assert (await agent.run("Greet my friend", session=session)).text == (
        "greet needs a value for name. Which one?"
    )
    assert (await agent.run("You know whom", session=session)).text == "Hello, Zoe!"


async def test_an_error_of_the_engine_comes_through() -> None:
    with pytest.raises(ProviderError, match="failed"):
        await agent_with(ScriptedEngine("broken"), greet).run("Hi")


async def test_leaving_early_stops_the_engine() -> None:
    engine = ScriptedEngine("endless")
    stream = agent_with(engine).run("Hi", stream=True)

    async def listen() -> None:
        async for _ in stream:
            listening.set()

    listening = asyncio.Event()
    task = asyncio.create_task(listen())
    await listening.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    assert await asyncio.to_thread(engine.stopped.wait, 60)


async def test_no_ordinary_question_is_refused_redirected_or_answered_by_code(runtime_with) -> None:
    for request in ORDINARY:
        engine = ScriptedEngine(NONE, "What the model says.")
        assert await runtime_with(engine).answer(request) == "What the model says.", request
        assert [grammar is None for grammar in engine.grammars] == [False, True], request
        assert engine.read[1][-1]["content"] == request.replace("<|", "< |")


async def test_an_answer_without_a_tool_is_marked_and_a_call_is_not(runtime_with) -> None:
    marked: list[str] = []
    observers = Observers(unaided=lambda: marked.append("marked"))
    await runtime_with(ScriptedEngine(NONE, "Four."), observers).answer("What is 2+2?")
    assert marked == ["marked"]
    greeting = '{"tool": "greet_in_language", "arguments": {"name": "Al", "language": "fr"}}'
    assert (
        await runtime_with(ScriptedEngine(greeting), observers).answer("Greet Al in French")
        == "Bonjour, Al !"
    )
    assert marked == ["marked"]


async def test_the_tools_on_offer_are_those_of_the_skills_of_the_turn(runtime_with) -> None:
    engine = ScriptedEngine(NONE, "Well.")
    await runtime_with(engine).answer("Greet Al in French")
    grammar = str(engine.grammars[0])
    assert "greet_in_language" in grammar
    assert "advanced_greeting" in grammar
    assert "orderbook" not in grammar
    assert "load_skill" not in grammar
    engine = ScriptedEngine(NONE, "Four.")
    await runtime_with(engine).answer("What is 2+2?")
    assert "script_run" not in str(engine.grammars[0])
    assert "list_skills" in str(engine.grammars[0])


async def test_a_tool_that_the_user_names_is_on_offer_for_all_skills(runtime_with) -> None:
    listed = '{"tool": "script_help", "arguments": {"skill_id": "kalshi-markets", "script_name": "status"}}'
    engine = ScriptedEngine(listed)
    await runtime_with(engine).answer("Use script_help to learn about it")
    assert "orderbook" in str(engine.grammars[0])


async def test_examples_come_from_the_skills_eval_cases_nearest_last(runtime_with) -> None:
    engine = ScriptedEngine(NONE, "Well.")
    await runtime_with(engine).answer("What are the latest trades of KXABC-1 on Kalshi?")
    *_, shown, call, request = engine.read[0]
    assert shown["content"] == "What are the latest trades of KXNEXTPM-27-A?"
    assert json.loads(call["content"])["arguments"]["script_name"] == "trades"
    assert request["content"] == "What are the latest trades of KXABC-1 on Kalshi?"


async def test_skills_are_listed_and_described_from_their_metadata(runtime_with) -> None:
    answer = await runtime_with(ScriptedEngine('{"tool": "list_skills", "arguments": {}}')).answer("Skills?")
    assert "hello-extended: Greets people" in answer
    call = '{"tool": "describe_skill", "arguments": {"skill_id": "kalshi-markets"}}'
    answer = await runtime_with(ScriptedEngine(call)).answer("What is kalshi-markets?")
    assert "scripts: event, events, market" in answer


async def test_a_question_about_a_file_of_a_skill_shows_the_passage(runtime_with) -> None:
    arguments = {"skill_id": "skill-author", "path": "references/evaluations.md"}
    call = json.dumps({"tool": "read_skill_resource", "arguments": arguments})
    answer = await runtime_with(ScriptedEngine(call)).answer("What does skill-author say on triggers.json?")
    assert answer.startswith("skill-author/references/evaluations.md:")
    assert "should_trigger" in answer


async def test_a_skill_that_is_too_long_is_read_as_its_usage_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_HOME", str(tmp_path / "home"))
    skill = tmp_path / "skills" / "csv-sums"
    (skill / "scripts").mkdir(parents=True)
    body = (
        "Sum columns.\n\n```bash\npython scripts/total.py --column price a.csv\n```\n\n"
        + "Long text. " * 2000
    )
    (skill / "SKILL.md").write_text(
        f"---\nname: csv-sums\ndescription: Sums columns of CSV files.\n---\n{body}"
    )
    (skill / "scripts" / "total.py").write_text("import sys\nprint(sys.argv)\n")
    (skill / "notes.md").write_text("Notes.")
    enabled = EnabledSkills(environment={"AGENT_SKILLS": "all-untrusted"}, search=[tmp_path / "skills"])
    engine = ScriptedEngine(NONE, "Well.")
    client = LocalChatClient(engine, "tiny")  # type: ignore[arg-type]
    runtime = AgentRuntime(LocalProvider(), enabled, ConversationStore().new(), client=client)
    await runtime.answer("/csv-sums sum the columns of a.csv")
    told = next(turn["content"] for turn in reversed(engine.read[0]) if turn["role"] == "system")
    assert "Long text." not in told
    assert "script total" in told
    assert "command python scripts/total.py --column price a.csv" in told
    assert "file notes.md" in told
