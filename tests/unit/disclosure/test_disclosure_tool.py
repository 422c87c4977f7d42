"""A tool refuses arguments it cannot take, as data, and forgives how models write them."""

import pytest

from skillkit.disclosure import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number"},
        "deep": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object"},
        "either": {"type": ["string", "null"]},
        "anything": {},
    },
    "required": ["path"],
}


async def echo(**arguments):
    return arguments


TOOL = Tool("echo", "Answers its arguments", SCHEMA, echo)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"path": "a"}, {"path": "a"}),
        ({"path": "a", "limit": "5"}, {"path": "a", "limit": 5}),
        ({"path": "a", "limit": 5.0}, {"path": "a", "limit": 5}),
        ({"path": "a", "limit": None}, {"path": "a"}),
        ({"path": "a", "share": 1}, {"path": "a", "share": 1}),
        ({"path": "a", "deep": True}, {"path": "a", "deep": True}),
        ({"path": "a", "names": ["x"], "options": {}}, {"path": "a", "names": ["x"], "options": {}}),
        ({"path": "a", "either": "x", "anything": [1]}, {"path": "a", "either": "x", "anything": [1]}),
    ],
)
async def test_arguments_that_fit_reach_the_handler(given, taken):
    assert (await TOOL.call(given)).data == taken


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "'path' is missing"),
        ({"path": None}, "'path' does not fit: null given"),
        ({"path": 3}, "'path' does not fit: a number given"),
        ({"path": "a", "limit": 0}, "'limit' does not fit"),
        ({"path": "a", "limit": "many"}, "'limit' does not fit: text given"),
        ({"path": "a", "limit": True}, "'limit' does not fit: true or false given"),
        ({"path": "a", "deep": 1}, "'deep' does not fit"),
        ({"path": "a", "names": [1]}, "'names' does not fit: a list given"),
        ({"path": "a", "options": []}, "'options' does not fit"),
        ({"path": "a", "handler": "x"}, "there is no argument 'handler'"),
        (["path"], "arguments must be one JSON object, got a list"),
    ],
)
async def test_arguments_that_do_not_fit_are_answered_as_data(given, complaint):
    result = await TOOL.call(given)
    assert result.failed
    answer = result.data
    assert answer["success"] is False
    assert answer["error"] == "invalid_arguments"
    assert complaint in answer["message"]
    assert "path (string, required), limit (integer 1…9, optional)" in answer["message"]


async def test_a_schema_may_allow_more():
    tool = Tool("open", "", {"properties": {}, "additionalProperties": True}, echo)
    assert (await tool.call({"any": 1})).data == {"any": 1}


async def test_a_tool_without_parameters_says_so():
    answer = (await Tool("now", "", {}, echo).call({"x": 1})).data
    assert answer["message"] == "now: there is no argument 'x'. Expected: no arguments."
