"""The embedded model as the framework's chat client; the engine is scripted, all else is real."""

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, Message, tool

from skillkit.agent.exceptions import ProviderError
from skillkit.agent.models.engine import Reply
from skillkit.agent.models.examples import examples_of
from skillkit.agent.models.local_client import LocalChatClient
from skillkit.agent.models.unsupported import NOT_DONE, NOT_KNOWN
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata, Triggers


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
            on_text('{"answer": "')
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


SKILL = '<skill_context id="hello">Use greet.</skill_context>'


def agent_with(engine: ScriptedEngine, *tools: Any) -> Agent[Any]:
    return Agent(LocalChatClient(engine, "tiny"), "Be kind.", tools=list(tools))  # type: ignore[arg-type]


async def test_an_answer_streams_and_carries_the_usage() -> None:
    engine = ScriptedEngine('{"answer": "All is well."}')
    stream = agent_with(engine, greet).run("How are you?", stream=True)
    pieces = [update.text async for update in stream if update.text]
    final = await stream.get_final_response()
    assert "".join(pieces) == final.text == "All is well."
    assert len(pieces) > 1
    assert final.usage_details["input_token_count"] == 100
    assert final.usage_details["cache_read_input_token_count"] == 90
    assert engine.grammars[0] is not None


async def test_a_result_is_the_answer_and_the_model_is_not_asked_again() -> None:
    engine = ScriptedEngine('{"tool": "greet", "arguments": {"name": "Al"}}')
    response = await agent_with(engine, greet).run("Greet Al")
    assert response.text == "Hello, Al!"
    assert len(engine.read) == 1
    assert response.usage_details["input_token_count"] == 100


async def test_what_a_tool_says_for_the_model_is_read_by_it() -> None:
    @tool
    def load_skill(skill_id: str) -> str:
        """Load a skill."""
        return SKILL

    engine = ScriptedEngine(
        '{"tool": "load_skill", "arguments": {"skill_id": "hello"}}',
        '{"tool": "greet", "arguments": {"name": "Al"}}',
    )
    response = await agent_with(engine, load_skill, greet).run("Say hello to Al")
    assert response.text == "Hello, Al!"
    call, result = engine.read[1][-2:]
    assert json.loads(call["content"]) == {"tool": "load_skill", "arguments": {"skill_id": "hello"}}
    assert result == {"role": "user", "content": f"Result of load_skill:\n{SKILL}"}


async def test_a_value_in_the_text_of_a_skill_is_not_one_that_the_user_named() -> None:
    @tool
    def load_skill(skill_id: str) -> str:
        """Load a skill."""
        return '<skill_context id="hello">Use greet, as in greet Zenobia.</skill_context>'

    engine = ScriptedEngine(
        '{"tool": "load_skill", "arguments": {"skill_id": "hello"}}',
        '{"tool": "greet", "arguments": {"name": "Zenobia"}}',
        '{"answer": "An assistant."}',
    )
    response = await agent_with(engine, load_skill, greet).run("Hello, who are you, and whom do you greet?")
    assert response.text == "An assistant."


@pytest.mark.parametrize(
    ("request_text", "second", "answer"),
    [
        ("Greet the whole team", '{"ask": "Who is in it?"}', "Who is in it?"),
        ("Hello, who are you?", '{"answer": "An assistant."}', "An assistant."),
    ],
)
async def test_a_made_up_value_is_taken_back_and_the_model_replies_in_words(
    request_text: str, second: str, answer: str
) -> None:
    engine = ScriptedEngine('{"tool": "greet", "arguments": {"name": "Alice"}}', second)
    response = await agent_with(engine, greet).run(request_text)
    assert response.text == answer
    assert engine.read[0] == engine.read[1]
    assert ["greet" in str(grammar) for grammar in engine.grammars] == [True, False]
    assert "cannot" not in str(engine.grammars[1])
    assert response.usage_details["input_token_count"] == 200


async def test_the_same_call_is_not_made_again() -> None:
    @tool
    def load_skill(skill_id: str) -> str:
        """Load a skill."""
        return SKILL

    loading = '{"tool": "load_skill", "arguments": {"skill_id": "hello"}}'
    engine = ScriptedEngine(loading, loading, '{"cannot": "I cannot order taxis."}')
    response = await agent_with(engine, load_skill).run("Say hello to a taxi")
    assert response.text == "I cannot order taxis."
    assert "load_skill" not in str(engine.grammars[2])


async def test_a_question_that_repeats_the_request_is_not_asked() -> None:
    engine = ScriptedEngine('{"ask": "What is the number of days in a leap year?"}', '{"answer": "366"}')
    response = await agent_with(engine, greet).run("How many days are in a leap year?")
    assert response.text == "366"
    assert ["ask" in str(grammar) for grammar in engine.grammars] == [True, False]


async def test_without_tools_it_can_answer_or_say_that_it_cannot() -> None:
    engine = ScriptedEngine('{"cannot": "I cannot."}')
    assert (await agent_with(engine).run("Fly")).text == "I cannot."
    (grammar,) = engine.grammars
    assert all(form in str(grammar) for form in ("answer", "cannot"))
    assert not any(form in str(grammar) for form in ("tool", "ask")), "there is nothing to ask for"


async def test_a_question_that_no_tool_is_for_is_answered_as_the_model_is_used_to() -> None:
    engine = ScriptedEngine("Canberra")
    assert (await agent_with(engine).run("What is the capital of Australia?")).text == "Canberra"
    assert engine.grammars == [None]
    ((told, asked),) = engine.read
    assert told["content"].startswith("Be kind.\n")
    assert "reply with the number" in told["content"], "a sum is answered with its result and not with code"
    assert "tool" not in told["content"]
    assert asked == {"role": "user", "content": "What is the capital of Australia?"}


async def test_a_call_in_the_place_of_an_answer_is_made_and_never_shown() -> None:
    call = '{"tool": "greet", "arguments": {"name": "Australia"}}'
    said = (await agent_with(ScriptedEngine(call), greet).run("What is the capital of Australia?")).text
    assert said == "Hello, Australia!"
    said = (await agent_with(ScriptedEngine(call)).run("What is the capital of Australia?")).text
    assert said == "I cannot do that."


async def test_a_live_fact_is_refused_without_asking_the_model() -> None:
    engine = ScriptedEngine()
    said = (await agent_with(engine).run("What's the weather in Berlin right now?")).text
    assert said.startswith("I cannot look that up")


async def test_a_claim_of_something_done_is_not_shown() -> None:
    engine = ScriptedEngine('{"answer": "I have saved the file. All is well."}')
    said = (await agent_with(engine).run("Keep it for later")).text
    assert said == "I cannot do that: I have no tool for it."


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ("all skills", "I answer questions, and I have 2 skills:\n- adder: Adds.\n- timer: Waits."),
        ("adder", "adder: Adds."),
    ],
)
async def test_skills_are_told_in_their_own_words(
    write_skill, tmp_path: Path, about: str, words: str
) -> None:
    write_skill("adder", description="Adds.", into=tmp_path)
    write_skill("timer", description="Waits.", into=tmp_path)
    manager = SkillManager(project_skill_dir=tmp_path)
    manager.discover()
    engine = ScriptedEngine(json.dumps({"about": about}))
    agent = agent_with(engine)
    agent.client.skills = manager.offered_skills
    assert (await agent.run("Who are you, what are you made for?")).text == words
    assert "timer" in str(engine.grammars[0])


async def test_of_a_skill_that_is_named_only_the_skill_speaks(write_skill, tmp_path: Path) -> None:
    write_skill("pdf-adder", description="Adds.", into=tmp_path)
    manager = SkillManager(project_skill_dir=tmp_path)
    manager.discover()
    engine = ScriptedEngine('{"about": "pdf-adder"}', '{"answer": "x"}')
    agent = agent_with(engine, greet)
    agent.client.skills = manager.offered_skills
    for request_text in ("Greet Al with pdf-adder", "Let a pdf subtract"):
        await agent.run(request_text)
    assert ["answer" in str(grammar) for grammar in engine.grammars] == [False, True]


@pytest.mark.parametrize(
    ("request_text", "read"),
    [
        ("Explain briefly what pdf-adder does", 0),
        ("What is pdf-adder good for?", 0),
        ("Give me the rundown on the pdf-adder skill", 0),
        ("Greet the makers of pdf-adder", 1),
        ("Greet Al with pdf-adder", 1),
    ],
)
async def test_a_skill_that_is_only_to_be_described_needs_no_model(
    write_skill, tmp_path: Path, request_text: str, read: int
) -> None:
    write_skill("pdf-adder", description="Adds.", into=tmp_path)
    manager = SkillManager(project_skill_dir=tmp_path)
    manager.discover()
    engine = ScriptedEngine('{"about": "pdf-adder"}')
    agent = agent_with(engine, greet)
    agent.client.skills = manager.offered_skills
    assert (await agent.run(request_text)).text == "pdf-adder: Adds."
    assert len(engine.read) == read


@pytest.mark.parametrize(
    ("request_text", "listed"),
    [
        ("show me all available skills", True),
        ("Which skills are currently loaded?", True),
        ("How many skills have you got?", True),
        ("Which skills does a nurse need?", False),
        ("Which of your skills adds?", True),
    ],
)
async def test_which_skills_there_are_needs_no_model(
    write_skill, tmp_path: Path, request_text: str, listed: bool
) -> None:
    write_skill("pdf-adder", description="Adds.", into=tmp_path)
    manager = SkillManager(project_skill_dir=tmp_path)
    manager.discover()
    engine = ScriptedEngine('{"answer": "something else"}')
    agent = agent_with(engine, greet)
    agent.client.skills = manager.offered_skills
    assert ("- pdf-adder: Adds." in (await agent.run(request_text)).text) is listed
    assert len(engine.read) == (not listed)


async def test_without_skills_it_says_so() -> None:
    engine = ScriptedEngine('{"about": "all skills"}')
    assert "No skills are loaded" in (await agent_with(engine).run("What can you do?")).text


async def test_an_odd_reply_is_still_an_answer() -> None:
    assert (await agent_with(ScriptedEngine("[1, 2]"), greet).run("Hi")).text == "[1, 2]"


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


async def test_tools_that_come_later_are_named_last() -> None:
    engine = ScriptedEngine('{"answer": "a"}', '{"answer": "b"}', '{"answer": "c"}')
    client = LocalChatClient(engine, "tiny")  # type: ignore[arg-type]

    @tool
    def wave(name: str) -> str:
        """Wave at a person."""
        return name

    for tools in ([greet], [greet, wave], [wave]):
        options = {"instructions": "Be kind.", "tools": tools}
        await client.get_response([Message("user", ["Be nice to Bo"])], options=options)
    first, second, third = engine.read
    assert second[:-1] == first[:-1]
    assert "wave(name: string)" in second[-1]["content"]
    assert "wave(name: string)" in third[-2]["content"]


GREETER = SkillMetadata(
    "greeter",
    "Greets people.",
    Path("greeter/SKILL.md"),
    triggers=Triggers(patterns=(r"\bsaluda\b",)),
    metadata={"examples": "say hi to Ann => greet name=Ann"},
)


async def test_a_skill_may_be_used_for_what_it_declares_in_another_language() -> None:
    engine = ScriptedEngine('{"tool": "greet", "arguments": {"name": "Ana"}}')
    client = LocalChatClient(engine, "tiny")  # type: ignore[arg-type]
    client.skills = lambda: [GREETER]
    client.examples = lambda: examples_of(GREETER, ())
    answer = await Agent(client, "Be kind.", tools=[greet]).run("Saluda a Ana")
    assert '"greet' in str(engine.grammars[0]).replace("\\", "")
    assert answer.text == "Hello, Ana!"


@pytest.mark.parametrize(
    ("request_text", "in_words"),
    [
        ("How would you say hi to Min-jun?", False),
        ("say hi to my neighbour", False),
        ("Greet Bo, who says hi", True),
        ("I want to say hi", True),
    ],
)
async def test_what_is_asked_in_the_words_of_an_example_is_done_with_its_tool(
    request_text: str, in_words: bool
) -> None:
    engine = ScriptedEngine('{"ask": "Whom?"}')
    client = LocalChatClient(engine, "tiny")  # type: ignore[arg-type]
    client.skills = lambda: [GREETER]
    client.examples = lambda: examples_of(GREETER, ())
    await Agent(client, "Be kind.", tools=[greet]).run(request_text)
    grammar = str(engine.grammars[0]).replace("\\", "")
    assert '"greet' in grammar
    assert ('"answer' in grammar) is in_words


async def test_which_skills_there_are_is_never_in_the_models_words() -> None:
    engine = ScriptedEngine('{"answer": "Well. I have the following skills: greet, dance."}')
    client = LocalChatClient(engine, "tiny")  # type: ignore[arg-type]
    client.skills = lambda: [GREETER]
    said = (await Agent(client, "Be kind.", tools=[greet]).run("Greet nobody, surprise me")).text
    assert said == "Well. \n\nI answer questions, and I have 1 skill:\n- greeter: Greets people."


@tool
def load_skill(skill_id: str) -> str:
    """Load a skill: order books."""
    return skill_id


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [("Book me a flight to Rome", NOT_DONE), ("How is the weather in Rome, any order?", NOT_KNOWN)],
)
async def test_what_no_skill_in_use_is_for_is_refused_before_one_is_loaded(
    request_text: str, answer: str
) -> None:
    engine = ScriptedEngine()
    assert (await agent_with(engine, load_skill).run(request_text)).text == answer


async def test_a_probability_that_follows_from_rules_is_no_request_for_a_tool() -> None:
    engine = ScriptedEngine("One in six.")
    answer = await agent_with(engine, greet).run("What are the odds of rolling a six, greet me?")
    assert answer.text == "One in six."
    assert engine.grammars == [None]


@pytest.mark.parametrize(
    ("request_text", "form", "echo"),
    [
        ("please greet ANNA", "answer", "ANNA"),
        ("please greet ANNA", "ask", "ANNA"),
        ("A warm welcome to Anna!", "answer", "A warm welcome to Anna!"),
        ("Dis bonjour à Anna, s'il te plaît", "answer", "Bonjour à Anna, s'il te plaît."),
    ],
)
async def test_saying_again_what_was_said_is_no_answer(request_text: str, form: str, echo: str) -> None:
    engine = ScriptedEngine(json.dumps({form: echo}), '{"tool": "greet", "arguments": {"name": "Anna"}}')
    assert (await agent_with(engine, greet).run(request_text)).text == "Hello, Anna!"
    assert '"answer' in str(engine.grammars[0]).replace("\\", "")
    assert '"answer' not in str(engine.grammars[1]).replace("\\", "")


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        ("greet ANNA", "ANNA is a name."),
        ("Good morning!", "Good morning!"),
        ("Guten Tag!", "Guten Tag!"),
        ("Whom shall I greet first, the guest or the host?", "the guest"),
    ],
)
async def test_an_answer_may_have_words_of_the_request(request_text: str, answer: str) -> None:
    engine = ScriptedEngine(json.dumps({"answer": answer}))
    assert (await agent_with(engine, greet).run(request_text)).text == answer


async def test_a_question_that_says_nothing_new_gives_way_to_the_one_about_the_missing_value() -> None:
    engine = ScriptedEngine('{"tool": "greet", "arguments": {"name": "Bo"}}', '{"ask": "ANNA"}')
    answer = await agent_with(engine, greet).run("greet the friend of ANNA")
    assert answer.text == "Which name do you mean?"


async def test_an_answer_to_a_question_back_is_read_with_everything() -> None:
    engine = ScriptedEngine('{"ask": "Who is it?"}', '{"tool": "greet", "arguments": {"name": "Bo"}}')
    agent = agent_with(engine, greet)
    client = agent.client
    shown = "\n".join(f"say hi to {name} => greet name={name}" for name in ("Ann", "Bo", "Cy"))
    greeter = replace(GREETER, metadata={"examples": shown})
    client.examples = lambda: examples_of(greeter, ())  # type: ignore[attr-defined]
    client.skills = lambda: [greeter]  # type: ignore[attr-defined]
    session = agent.create_session()
    await agent.run("say hi to Ann for me", session=session)
    await agent.run("say hi to Bo", session=session)
    assert [turns[0]["content"].startswith("Reply to the last message") for turns in engine.read] == [
        True,
        False,
    ]
