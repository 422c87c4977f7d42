"""A small model's arguments: what nobody named is asked for or left out. What skills show, by nearness."""

import json
from pathlib import Path

import pytest

from skillkit.agent.models.constrained import Call, ToolSpec
from skillkit.agent.models.examples import Example, examples_of, nearest, scripts_for_words
from skillkit.agent.models.grounding import (
    MadeUp,
    Spoken,
    as_before,
    callable_tools,
    check_arguments,
    scripts_for_identifier,
)
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
            "skill_id": {**TEXT, "enum": ["order-search"]},
            "script_name": {**TEXT, "enum": ["orderbook", "search"]},
            "args": {"type": "array", "items": TEXT},
        },
        "required": ["script_name"],
    },
)


HELP = ToolSpec(
    "script_help", "", {"properties": {"script_name": TEXT}, "required": ["script_name"]}, "script option"
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
        ("Greet me and Will", Call("greet_all", {"names": ["me", "Will"]}), None),
        ("你好 to 小明", Call("greet", {"name": "小明"}), None),
        ("Greet Ann and the team", Call("greet_all", {"names": ["Ann", "Bob", "Cleo"]}), {"names": ["Ann"]}),
        ("order book of KXA-1", run("KXA-1"), None),
        (
            "order book of kxa-1",
            run("KXA-1", "--depth", "1234", "--json", "--status=open", "--full"),
            {"script_name": "orderbook", "args": ["KXA-1", "--json"]},
        ),
        ("odds of an election", run("elections"), None),
        ("run orderbook with args", run("--depth", "1234"), {"script_name": "orderbook", "args": []}),
        ("odds of the French vote", run("France"), None),
        (
            "Who wins the Super Bowl?",
            run("superbowl"),
            {"script_name": "orderbook", "args": ["Super Bowl"]},
        ),
        ("greet the advanced greeting", Call("greet", {"name": "advanced_greeting"}), None),
        ("greet Jean Luc", Call("greet", {"name": "Jean-Luc"}), {"name": "Jean Luc"}),
        ("run it with --language it", run("--language", "it"), None),
        (
            "run it with --category Politics",
            run("Politics"),
            {"script_name": "orderbook", "args": ["--category", "Politics"]},
        ),
        (
            "odds of an election",
            run("elections", "Gotham"),
            {"script_name": "orderbook", "args": ["elections"]},
        ),
    ],
)
def test_what_was_said_is_kept_and_nothing_else(said: str, call: Call, kept: dict | None) -> None:
    checked = check_arguments(call, [GREET, MANY, RUN], Spoken(said))
    assert checked == Call(call.tool, call.arguments if kept is None else kept)


@pytest.mark.parametrize(("script", "known"), [("orderbook", True), ("order_all", False)])
def test_a_name_that_a_tool_lists_is_known(script: str, known: bool) -> None:
    checked = check_arguments(Call("script_help", {"script_name": script}), [RUN, HELP], Spoken("order help"))
    assert isinstance(checked, Call) is known


def test_an_option_as_it_stands_in_the_instructions_is_kept() -> None:
    spoken = Spoken("what needs a review by team red?", instructions="fetch --org acme --teams <team>")
    call = run("--org", "acme", "--teams", "red", "--since", "2020-01")
    assert check_arguments(call, [RUN], spoken) == run("--org", "acme", "--teams", "red")


def test_a_word_for_any_value_in_the_instructions_is_none() -> None:
    spoken = Spoken("run fetch please", instructions="fetch --org acme --teams NAME")
    assert check_arguments(run("--org", "acme", "--teams", "NAME"), [RUN], spoken) == run("--org", "acme")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Greet Pilar", {"name": "Pilar"}),
        ("Please greet Pilar!", {"name": "Pilar"}),
        ("say hola to Pilar", {"name": "Pilar", "language": "es"}),
    ],
)
def test_an_optional_value_needs_a_word_that_could_imply_it(said: str, kept: dict) -> None:
    call = Call("greet", {"name": "Pilar", "language": "es"})
    assert check_arguments(call, [GREET], Spoken(said)) == Call("greet", kept)


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("Same for Bo.", {"name": "Bo", "language": "de"}),
        ("And to Bo", {"name": "Bo", "language": "de"}),
        ("what about Bo?", {"name": "Bo", "language": "de"}),
        ("Now greet Bo", {"name": "Bo"}),
    ],
)
def test_the_same_again_is_what_was_asked_before_for_another(said: str, arguments: dict) -> None:
    last = Call("greet", {"name": "Ann", "language": "de"})
    assert as_before(Call("greet", {"name": "Bo"}), last, Spoken(said)) == Call("greet", arguments)
    assert as_before(run("Bo"), last, Spoken(said)) == run("Bo")


@pytest.mark.parametrize(
    ("said", "call", "words"),
    [
        ("Hello, who are you?", Call("greet", {"name": "Alice"}), "who is greeted"),
        ("Greet somebody", Call("greet", {"name": "somebody"}), "who is greeted"),
        ("hi there", Call("greet", {"name": "there"}), "who is greeted"),
        ("Good evening! What is your name?", Call("greet", {"name": "me"}), "who is greeted"),
        ("Greet the whole crew", Call("greet_all", {"names": ["Ann", "Bob"]}), "names"),
        ("Greet the whole crew", Call("greet_all", {"names": ["Crew"]}), "names"),
        ("Greet all of my friends", Call("greet", {"name": "friends"}), "who is greeted"),
        ("Say hello to my parents", Call("greet", {"name": "my parents"}), "who is greeted"),
        ("Say hello to our customers", Call("greet_all", {"names": ["customers"]}), "names"),
        ("Greet her", Call("greet", {"name": ""}), "who is greeted"),
        ("the order book of a market", run("KXHIGHNY-26NOV15-T60"), "orderbook"),
        ("a summary of order-search", run("--depth", "1234"), "orderbook"),
    ],
)
def test_a_needed_value_that_nobody_named_is_asked_for(said: str, call: Call, words: str) -> None:
    asked = check_arguments(call, [GREET, MANY, RUN], Spoken(said))
    assert isinstance(asked, MadeUp)
    assert words in asked.question
    assert asked.question.endswith("?")


def test_a_skill_shows_itself_in_its_header(write_skill, tmp_path: Path) -> None:
    folder = write_skill("adder", into=tmp_path)
    text = (folder / "SKILL.md").read_text()
    examples = """\
metadata:
  examples: |
    Add 2 and 3 => add 2 3
    no arrow
    broken => add 'x
    Say hi to Ann and Bo => greet names=Ann,Bo, language=fr
    Add them => "Which numbers?"
    Good day => "Good day!"
---
"""
    head, _, body = text.partition("---\n")[2].partition("---\n")
    (folder / "SKILL.md").write_text(f"---\n{head}{examples}{body}")
    manager = SkillManager(project_skill_dir=tmp_path)
    manager.discover()
    found = examples_of(manager.get_skill("adder"), {"add"})
    assert (found[0].script, found[0].values) == ("add", ("2", "3"))
    assert [(example.request, example.tool, json.loads(example.reply)) for example in found] == [
        (
            "Add 2 and 3",
            "script_run",
            {
                "tool": "script_run",
                "arguments": {"skill_id": "adder", "script_name": "add", "args": ["2", "3"]},
            },
        ),
        (
            "Say hi to Ann and Bo",
            "greet",
            {"tool": "greet", "arguments": {"names": ["Ann", "Bo"], "language": "fr"}},
        ),
        ("Add them", None, {"ask": "Which numbers?"}),
        ("Good day", None, {"answer": "Good day!"}),
    ]


def test_an_identifier_is_like_any_other() -> None:
    examples = [Example(request, "{}", None) for request in ("odds of KXA-1", "price of rain", "open now?")]
    assert nearest("What is paid for KXB-27?", examples, 1) == [examples[0]]


def test_the_nearest_example_comes_last() -> None:
    examples = [
        Example(request, "{}", None)
        for request in ("odds of rain", "order book of A", "latest trades in A", "is it open")
    ]
    assert [example.request for example in nearest("Show me the latest trades", examples, 2)] == [
        "odds of rain",
        "latest trades in A",
    ]


LIST = ToolSpec("script_list", "List the scripts of a skill, or of all skills.", {"properties": {}}, "script")
LANGUAGES = ToolSpec("list_languages", "The languages that can be greeted in.", {"properties": {}})


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("List every skill that is available", {"greet", "script_run"}),
        ("Which scripts does it have?", {"greet", "script_run", "script_list", "script_help"}),
        ("What options does orderbook take?", {"greet", "script_run", "script_help"}),
        ("show skills", set()),
        ("Explain what order-search does", {"greet", "script_run"}),
        ("which scripts do your skills have?", {"script_list", "script_help"}),
        ("Use script_list", {"greet", "script_run", "script_list", "script_help"}),
        ("Which languages do you speak?", {"greet", "script_run", "list_languages"}),
    ],
)
def test_what_is_taken_too_readily_has_to_be_spoken_of(said: str, names: set[str]) -> None:
    offered = callable_tools([GREET, RUN, HELP, LIST, LANGUAGES], Spoken(said, said))
    assert {tool.name for tool in offered} == names


def test_whoever_names_an_identifier_is_not_sent_to_a_script_that_takes_words() -> None:
    def shown(script: str, *args: str) -> Example:
        return Example("?", "{}", "script_run", script, args)

    words, identifiers = shown("search", "red", "shoes"), shown("orderbook", "KXA-1")
    assert scripts_for_words([words, identifiers]) == {"search"}
    assert scripts_for_words([words]) == set()

    def offered(request: str) -> list[str]:
        (narrowed,) = scripts_for_identifier([RUN], {"search"}, request)
        return narrowed.parameters["properties"]["script_name"]["enum"]

    assert offered("price of KXA-1") == ["orderbook"]
    assert offered("search for KXA-1") == ["search"]
    assert offered("search the order book of KXA-1") == ["orderbook", "search"]
    assert offered("the price in order-search of ORDERBOOK-1") == ["orderbook"]
    (only,) = scripts_for_identifier([RUN], {"search", "orderbook"}, "price of KXA-1")
    assert only == RUN


def test_everybody_in_a_place_is_nobody_with_a_name() -> None:
    call = Call("greet_all", {"names": ["everybody", "office"]})
    assert isinstance(check_arguments(call, [MANY], Spoken("Say hello to everybody in my office")), MadeUp)


READ = ToolSpec(
    "read_skill_resource",
    "Read a skill's file.",
    {"properties": {"skill_id": TEXT, "path": TEXT}, "required": ["skill_id", "path"]},
)


def test_only_files_that_a_skill_lists_can_be_read():
    request = "Read what chart.png shows"
    assert callable_tools([READ], Spoken(request, request)) == []
    listing = "<resources>\n  <resource>references/a&amp;b.md</resource>\n</resources>"
    [offered] = callable_tools([READ], Spoken(request, request, listing))
    assert offered.parameters["properties"]["path"]["enum"] == ["references/a&b.md"]


def test_a_skill_about_skills_can_be_used_for_them():
    request = "Search for skills that can be installed"
    assert callable_tools([RUN], Spoken(request, request)) == []
    assert callable_tools([RUN], Spoken(request, request), for_skills=True) == [RUN]


def test_a_number_may_be_said_in_words():
    call = Call("script_run", {"script_name": "search", "args": ["ships", "--limit", "3"]})
    spoken = Spoken("search three ships", "search three ships")
    assert check_arguments(call, [RUN], spoken) == call


def test_a_whole_department_is_nobody_with_a_name():
    said = "Say hello to the whole department and to Ann"
    for value in ("the whole department", "whole department"):
        assert isinstance(
            check_arguments(Call("greet_all", {"names": [value]}), [MANY], Spoken(said)), MadeUp
        )
    kept = Call("greet_all", {"names": ["Ann"]})
    assert check_arguments(kept, [MANY], Spoken(said)) == kept


def test_the_language_that_is_asked_for_is_nobody() -> None:
    names = {"type": "array", "items": TEXT}
    spec = ToolSpec("wave_in", "Wave.", {"properties": {"names": names, "language": TEXT}})
    call = Call("wave_in", {"names": ["Carmen", "español"], "language": "es"})
    kept = check_arguments(call, [spec], Spoken("Saluda a Carmen en español por favor"))
    assert kept == Call("wave_in", {"names": ["Carmen"], "language": "es"})


def test_a_number_behind_a_word_that_was_said_makes_no_name() -> None:
    spec = ToolSpec(
        "wave_at_all",
        "Wave.",
        {"properties": {"names": {"type": "array", "items": {"type": "string"}}}, "required": ["names"]},
    )
    call = Call("wave_at_all", {"names": ["Friend1", "Friend2"]})
    assert isinstance(check_arguments(call, [spec], Spoken("Can you wave at my friends?")), MadeUp)
    said = Spoken("wave at Friend1 and Friend2")
    assert check_arguments(call, [spec], said) == call
