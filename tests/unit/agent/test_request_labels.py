"""The judge of labelled requests: right tools and arguments in any of the ways that a label admits."""

from typing import Any

import pytest
from benchmarks.agent.labels import fits_label

SEARCH = {"tool": "search", "arguments": {"words": {"contains": [["bees", "honey"]]}}}
MANY = {
    "tool": "greet_multiple",
    "arguments": {"names": {"all": ["Ann", ["Bo", "Mr Bo"]]}, "language": ["fr"]},
}
ALONE = {"tool": "greet_in_language", "arguments": {"name": ["Ann"], "language": ["en", None]}}
BY_TIME = {"tool": "advanced", "arguments": {"name": ["Ann"], "time": {"between": ["18:00", "03:59"]}}}
TRADES = {"tool": "trades", "arguments": {"ticker": ["KX-1"], "limit": ["5"]}}
NONE = {"tool": "none", "arguments": {}}
ABOUT = {
    "tool": "describe_skill",
    "arguments": {"name": ["sewer"]},
    "alternatives": [{"tool": "none", "arguments": {}, "if": "it is told"}],
    "must_mention": [["thread"]],
}


def run(script: str, *args: str) -> tuple[str, dict[str, Any]]:
    return "script_run", {"skill_id": "x", "script_name": script, "args": list(args)}


def greet(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return "greet_in_language", arguments


@pytest.mark.parametrize(
    ("expect", "calls", "answer", "right"),
    [
        (SEARCH, [run("search", "honey", "bees")], "", True),
        (SEARCH, [run("search", "wasps")], "", False),
        (SEARCH, [("script_help", {"script_name": "search"}), run("search", "bees")], "", True),
        (SEARCH, [run("search", "bees"), run("search", "bees")], "", False),
        (MANY, [("greet_multiple", {"names": ["mr bo", "Ann"], "language": "fr-CA"})], "", True),
        (MANY, [greet(name="Ann", language="fr"), greet(name="Bo", language="fr")], "", True),
        (MANY, [greet(name="Ann", language="fr")], "", False),
        (ALONE, [greet(name=" ann ")], "", True),
        (ALONE, [greet(name="Ann", language="de")], "", False),
        (ALONE, [run("trades", "--ticker", "KX-1")], "", False),
        (BY_TIME, [run("advanced", "--name", "Ann", "--time", "19:30")], "", True),
        (BY_TIME, [run("advanced", "--name", "Ann", "--time", "9:30")], "", False),
        (TRADES, [run("trades", "--ticker", "KX-1", "--limit=5")], "", True),
        (TRADES, [run("trades", "--ticker", "KX-1")], "", False),
        (NONE, [], "Paris.", True),
        (NONE, [], "I cannot do that.", False),
        (NONE, [("load_skill", {"skill_id": "x"})], "Paris.", False),
        ({**NONE, "ask_back": True}, [], "Whom?", True),
        ({**NONE, "ask_back": True}, [], "Done.", False),
        (ABOUT, [], "sewer: Sews.", True),
        (ABOUT, [], "It works with a thread.", True),
        (ABOUT, [], "It cooks.", False),
        (ABOUT, [("load_skill", {"skill_id": "sewer"})], "It cooks.", False),
    ],
)
def test_a_label_says_what_is_right(
    expect: dict[str, Any], calls: list[tuple[str, dict[str, Any]]], answer: str, right: bool
) -> None:
    assert fits_label({"turns": ["Ann, please"], "expect": expect}, calls, answer) is right


def test_a_time_that_nobody_gave_is_made_up() -> None:
    expect = {"tool": "advanced", "arguments": {"name": ["Ann"]}}
    calls = [run("advanced", "--name", "Ann", "--time", "19:00")]
    assert not fits_label({"turns": ["Greet Ann"], "expect": expect}, calls, "")
    assert fits_label({"turns": ["Greet Ann at 19:00"], "expect": expect}, calls, "")
