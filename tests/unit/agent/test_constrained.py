"""The embedded model's replies: what the grammar admits, and what is made of them."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkit.agent.models.constrained import (
    About,
    Answer,
    AnswerStream,
    Call,
    ParsedReply,
    Question,
    ToolSpec,
    more_tools,
    parse,
    reply_schema,
    turns_before,
)
from skillkit.agent.models.demonstration import DEMONSTRATION
from skillkit.agent.models.engine import is_looping, threads

GREET = ToolSpec(
    "greet",
    "Greet a person. And more that is not needed.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Who"},
            "tone": {"enum": ["warm", "cool"], "title": "Tone"},
            "tags": {"type": "array", "items": {"type": "string", "title": "x"}},
            "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "more": {"type": "object", "properties": {"a": {"type": ["string", "null"], "default": "b"}}},
        },
        "required": ["name"],
    },
)


def test_a_tool_is_one_short_line() -> None:
    assert GREET.line() == (
        "- greet(name: string, tone?: warm|cool, tags?: list of string, age?: integer, more?: object): "
        "Greet a person."
    )


def test_the_grammar_admits_the_tools_of_the_request_and_an_answer() -> None:
    first, *rest = reply_schema([GREET])["anyOf"]
    assert first["properties"]["tool"] == {"const": "greet"}
    arguments = first["properties"]["arguments"]
    assert arguments["required"] == ["name"]
    assert arguments["additionalProperties"] is False
    assert arguments["properties"]["more"] == {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}},
    }
    assert [list(part["properties"]) for part in rest] == [["answer"], ["ask"], ["cannot"]]
    about = reply_schema([], ["pdf-forms"])["anyOf"][-1]
    assert about["properties"]["about"] == {"enum": ["pdf-forms"]}
    assert len(reply_schema([GREET], forms=())["anyOf"]) == 1


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ('{"tool": "greet", "arguments": {"name": "Al"}}', Call("greet", {"name": "Al"})),
        ('{"answer": "4"}', Answer("4")),
        ('{"cannot": "I cannot fly."}', Answer("I cannot fly.")),
        ('{"ask": "Where to?"}', Question("Where to?")),
        ('{"ask": "Where t', Answer("Where t")),
        ('{"about": "all skills"}', About("all skills")),
        ('{"answer": "cut off in the mid', Answer("cut off in the mid")),
        ("no JSON at all", Answer("no JSON at all")),
        ("[1]", Answer("[1]")),
    ],
)
def test_a_reply_is_a_call_or_an_answer(text: str, meaning: ParsedReply) -> None:
    assert parse(text) == meaning


@pytest.mark.parametrize(
    ("question", "repeats"), [("What can you do for me?", True), ("What are their names?", False)]
)
def test_a_question_that_says_the_request_again_is_noticed(question: str, repeats: bool) -> None:
    assert Question(question).repeats("Hi! What can you do for me?") is repeats


@given(st.text(), st.lists(st.integers(1, 9)))
def test_an_answer_can_be_shown_while_it_is_written(text: str, sizes: list[int]) -> None:
    written = json.dumps({"answer": text}, ensure_ascii=len(text) % 2 == 0)
    stream = AnswerStream()
    shown, place = "", 0
    for size in [*sizes, len(written)]:
        shown += stream.feed(written[place : place + size])
        place += size
    assert shown == text
    assert stream.started


def test_a_tool_call_shows_nothing() -> None:
    stream = AnswerStream()
    assert stream.feed('{"tool": "greet", "arguments": {"name": "answer"}}') == ""
    assert not stream.started


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ('{"tool": "greet", "arguments": {"name": "Al"}}', False),
        ('{"name": "Al", "age": 3}', True),
        ("```json\n{}\n```", True),
        ("Hi", True),
    ],
)
def test_a_call_is_told_from_an_answer_where_no_json_was_asked_for(text: str, started: bool) -> None:
    stream = AnswerStream(in_json=None)
    shown = "".join(stream.feed(piece) for piece in text)
    assert (shown, stream.started) == (text if started else "", started)


def test_what_never_changes_comes_first() -> None:
    before = turns_before("Be kind.", [GREET])
    assert before[:-1] == DEMONSTRATION
    assert "Be kind." in before[-1]["content"]
    assert GREET.line() in before[-1]["content"]
    assert turns_before("Be kind.", [])[:-1] == DEMONSTRATION
    more = more_tools([GREET], "Greet Bo")
    assert GREET.line() in more
    assert more.endswith("Greet Bo")


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("the same the same the same the same ", True),
        ("one two three four five six seven", False),
        ("        ", False),
        ("a, b, a, b, a, b, a, b, a, b, a, b, ", True),
    ],
)
def test_saying_the_same_for_ever_is_noticed(text: str, loops: bool) -> None:
    assert is_looping(text) is loops


def test_all_cores_are_used_where_nothing_else_wants_to_run() -> None:
    cores = len(os.sched_getaffinity(0))
    assert threads(lambda: 1) == cores
    assert threads(lambda: 3) == max(1, cores - 1)
    assert threads(lambda: None) in (cores, max(1, cores - 1))
    assert 1 <= threads() <= cores
