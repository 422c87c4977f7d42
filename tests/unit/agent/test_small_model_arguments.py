"""A small model's arguments: what nobody named is asked for or left out. What skills show, by nearness."""

from pathlib import Path

import pytest

from skillkit.agent.models.constrained import Answer, Call, ToolSpec
from skillkit.agent.models.examples import Example, examples_of, nearest
from skillkit.agent.models.grounding import check_arguments
from skillkit.core.manager import SkillManager

TEXT = {"type": "string"}
GREET = ToolSpec(
    "greet",
    "Greet one person.",
    {
        "properties": {"name": {**TEXT, "description": "Who is greeted."}, "language": TEXT},
        "required": ["name"],
    },
)
MANY = ToolSpec(
    "greet_all", "", {"properties": {"names": {"type": "array", "items": TEXT}}, "required": ["names"]}
)
RUN = ToolSpec(
    "script_run",
    "",
    {
        "properties": {
            "script_name": {**TEXT, "enum": ["orderbook", "search"]},
            "args": {"type": "array", "items": TEXT},
        },
        "required": ["script_name"],
    },
)


def run(*arguments: str) -> Call:
    return Call("script_run", {"script_name": "orderbook", "args": list(arguments)})


@pytest.mark.parametrize(
    ("said", "call", "kept"),
    [
        (
            "Greet Mr. Papadopoulos in Greek",
            Call("greet", {"name": "Mr. Papadopoulos", "language": "el"}),
            None,
        ),
        ("say bonjour to rory", Call("greet", {"name": "Rory", "language": "French"}), None),
        ("你好 to 小明", Call("greet", {"name": "小明"}), None),
        ("Greet Ann and the team", Call("greet_all", {"names": ["Ann", "Bob", "Cleo"]}), {"names": ["Ann"]}),
        ("order book of KXA-1", run("KXA-1"), None),
        (
            "order book of kxa-1",
            run("KXA-1", "--depth", "1234", "--json", "--status=open"),
            {"script_name": "orderbook", "args": ["KXA-1", "--json"]},
        ),
        ("odds of an election", run("elections"), None),
    ],
)
def test_what_was_said_is_kept_and_nothing_else(said: str, call: Call, kept: dict | None) -> None:
    checked = check_arguments(call, [GREET, MANY, RUN], said)
    assert checked == Call(call.tool, call.arguments if kept is None else kept)


@pytest.mark.parametrize(
    ("said", "call", "words"),
    [
        ("Hello, who are you?", Call("greet", {"name": "Alice"}), "who is greeted"),
        ("Greet the whole crew", Call("greet_all", {"names": ["Ann", "Bob"]}), "names"),
        ("the order book of a market", run("KXHIGHNY-26NOV15-T60"), "orderbook"),
    ],
)
def test_a_needed_value_that_nobody_named_is_asked_for(said: str, call: Call, words: str) -> None:
    asked = check_arguments(call, [GREET, MANY, RUN], said)
    assert isinstance(asked, Answer)
    assert words in asked.text
    assert asked.text.endswith("?")


def test_a_skill_shows_itself_in_its_header(write_skill, tmp_path: Path) -> None:
    folder = write_skill("adder", into=tmp_path)
    text = (folder / "SKILL.md").read_text()
    examples = (
        "metadata:\n  examples: |\n    Add 2 and 3 => add 2 3\n    no arrow\n    broken => add 'x\n---\n"
    )
    head, _, body = text.partition("---\n")[2].partition("---\n")
    (folder / "SKILL.md").write_text(f"---\n{head}{examples}{body}")
    manager = SkillManager(project_skill_dir=tmp_path)
    manager.discover()
    found = examples_of(manager.get_skill("adder"))
    assert found == [Example("Add 2 and 3", "adder", "add", ("2", "3"))]
    assert '"args": ["2", "3"]' in found[0].call()


def test_the_nearest_example_comes_last() -> None:
    examples = [
        Example(request, "s", "x", ())
        for request in ("odds of rain", "order book of A", "latest trades in A", "is it open")
    ]
    assert [example.request for example in nearest("Show me the latest trades", examples, 2)] == [
        "odds of rain",
        "latest trades in A",
    ]
