"""Requests that need no model: those that name a script, and those that are like an example of a skill."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillkit.agent.models.constrained import Answer, Call, ToolSpec
from skillkit.agent.models.example_calls import call_like_example
from skillkit.agent.models.examples import Example, examples_of
from skillkit.agent.models.identifiers import find_identifiers
from skillkit.agent.models.script_requests import Narrowed, call_for_script, names_tool
from skillkit.agent.models.skill_answers import asked_about, describe
from skillkit.core.models import SkillMetadata, Triggers

SCRIPTS = {"library-desk": ["find", "loans", "opening", "book_card"]}
SKILL = SkillMetadata(
    "library-desk",
    "Books, loans and opening hours of the town library. Use when asked about a book.",
    Path("library-desk/SKILL.md"),
    triggers=Triggers(keywords=("borrow", "on the shelf"), patterns=(r"\bwho wrote\b",)),
    metadata={
        "examples": """\
Do you have books about sailing ships? => find sailing ships
Is there a novel on bees? => find bees
Who has BK-1234-A, show its loans => loans --book BK-1234-A
Show the card of BK-1234-A => book_card BK-1234-A
Is the library open? => opening
Order a new book => "I cannot order books, I can only look."
"""
    },
)
EXAMPLES = examples_of(SKILL, SCRIPTS["library-desk"])


def tool(name: str, *arguments: str) -> ToolSpec:
    properties = {argument: {"type": "string"} for argument in arguments}
    return ToolSpec(name, name, {"type": "object", "properties": properties, "required": list(arguments)})


TOOLS = [
    tool("script_list", "skill_id"),
    tool("script_help", "skill_id", "script_name"),
    tool("script_run", "skill_id", "script_name"),
]


def run(script: str, *args: str) -> Call:
    given = {"args": list(args)} if args else {}
    return Call("script_run", {"skill_id": "library-desk", "script_name": script, **given})


def for_script(request: str) -> Call | Narrowed | None:
    return call_for_script(request, TOOLS, SCRIPTS, EXAMPLES)


def like_example(request: str, **more: object) -> Call | Narrowed | Answer | None:
    return call_like_example(request, TOOLS, EXAMPLES, [SKILL], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("request_text", "call"),
    [
        ("Which scripts does library-desk have?", Call("script_list", {"skill_id": "library-desk"})),
        (
            "Which scripts does the library desk skill ship with?",
            Call("script_list", {"skill_id": "library-desk"}),
        ),
        (
            "How do I use the loans script?",
            Call("script_help", {"skill_id": "library-desk", "script_name": "loans"}),
        ),
        (
            "what options does book card take?",
            None,  # two everyday words, and nobody speaks of a script
        ),
        (
            "what options does book_card take?",
            Call("script_help", {"skill_id": "library-desk", "script_name": "book_card"}),
        ),
        (
            "Use script_help to learn about the loans script",
            Call("script_help", {"skill_id": "library-desk", "script_name": "loans"}),
        ),
        ("Please run the opening script of library-desk", run("opening")),
        ("Run the loans script for BK-7-X", run("loans", "--book", "BK-7-X")),
        ("Execute the find script with the word whales", run("find", "whales")),
        (
            "run book_card with --size large --language it please",
            run("book_card", "--size", "large", "--language", "it"),
        ),
        ("run opening of library-desk", run("opening")),
        ("Should I run while opening library-desk?", None),
        ("Run the find script with the words blue whales", run("find", "blue", "whales")),
        ("run book_card BK-7-X --size large", run("book_card", "BK-7-X", "--size", "large")),
        ("Write a script that counts words", None),
        ("Find me a nice script for a play", None),
    ],
)
def test_a_request_that_names_a_script(request_text: str, call: Call | None) -> None:
    assert for_script(request_text) == call


@pytest.mark.parametrize(
    ("request_text", "named"),
    [("Use script_run to find bees", True), ("Run the script that finds bees", False)],
)
def test_a_request_may_say_with_which_tool(request_text: str, named: bool) -> None:
    assert names_tool(request_text, TOOLS) is named


def test_what_has_to_be_understood_is_left_to_the_model_for_this_script_alone() -> None:
    narrowed = for_script("Run the loans script for everybody who is late")
    assert isinstance(narrowed, Narrowed)
    properties = narrowed.tool.parameters["properties"]
    assert properties["script_name"]["enum"] == ["loans"]
    assert properties["skill_id"]["enum"] == ["library-desk"]


@pytest.mark.parametrize(
    ("request_text", "outcome"),
    [
        ("What are the loans of BK-99-Z?", run("loans", "--book", "BK-99-Z")),
        ("card for BK-99-Z please", run("book_card", "BK-99-Z")),
        ("Do you have a novel about whales?", run("find", "whales")),
        ("Is the library open right now?", run("opening")),
        ("Who wrote Moby Dick?", run("find", "Moby", "Dick")),
        ("Order BK-99-Z for me", Answer("I cannot order books, I can only look.")),
        ("Show the card", Answer("Which one do you mean, for book_card?")),
        ("Who's got a novel about whales?", run("find", "whales")),
        ("BK-99-Z", run("loans", "--book", "BK-99-Z")),
        ("Anything new on BK-99-Z?", run("loans", "--book", "BK-99-Z")),
        ("XY-99-Z", None),
        ("What are the odds of rolling two sixes, any novel on it?", None),
        ("Explain what a novel is", None),
        ("shorten this: I have a novel on bees and need the card", None),
        ("How do novels work?", None),
        ("Is library-desk a good skill for novels?", None),
        ("What is 17 times 6?", None),
    ],
)
def test_a_request_like_an_example_is_done_as_the_example_is(
    request_text: str, outcome: Call | Answer | None
) -> None:
    assert like_example(request_text) == outcome


def test_of_many_words_the_model_chooses_among_those_that_were_said() -> None:
    narrowed = like_example("Do you have books about old wooden fishing boats in northern Norway?")
    assert isinstance(narrowed, Narrowed)
    words = narrowed.tool.parameters["properties"]["args"]["items"]["enum"]
    assert words == ["old", "wooden", "fishing", "boats", "northern", "Norway"]


def test_a_request_goes_on_from_what_was_said() -> None:
    assert like_example("and its loans?", said="Show the card of BK-5-B") == run("loans", "--book", "BK-5-B")
    assert like_example("And about seals?", last=run("find", "whales")) == run("find", "seals")
    assert like_example("ok and what about seals?", last=run("find", "whales")) == run("find", "seals")
    assert like_example("And about seals?") is None


def test_a_skill_whose_scripts_are_asked_for_may_be_called_by_its_subject() -> None:
    listed = call_for_script("What scripts has the book skill?", TOOLS, SCRIPTS, EXAMPLES, "library-desk")
    assert listed == Call("script_list", {"skill_id": "library-desk"})


def test_of_two_scripts_with_the_same_words_the_telling_ones_decide() -> None:
    skill = replace(
        SKILL,
        metadata={
            "examples": """\
The shelf and the card, to borrow BK-1234-A => book_card BK-1234-A
Has anyone borrowed BK-1234-A lately? => loans --book BK-1234-A
"""
        },
    )
    examples = examples_of(skill, SCRIPTS["library-desk"])
    asked = call_like_example("ok, and who borrowed it?", TOOLS, examples, [skill], said="Show BK-5-B")
    assert asked == run("loans", "--book", "BK-5-B")


def test_a_number_may_be_an_option_that_the_model_has_to_find() -> None:
    assert isinstance(like_example("the last 5 loans of BK-5-B"), Narrowed)


def test_skills_without_examples_know_no_calls() -> None:
    assert call_like_example("What are the loans of BK-99-Z?", TOOLS, [], [SKILL]) is None
    assert like_example("Show the card of BK-99-Z") == run("book_card", "BK-99-Z")
    spoken = [Example("hello", '{"answer": "Hi"}', None, skill="library-desk")]
    assert call_like_example("hello", TOOLS, spoken, [SKILL]) is None


@pytest.mark.parametrize(
    ("text", "shown", "found"),
    [
        ("Order book of KX-27-A", [], ["KX-27-A"]),
        ("the series KXHIGHNY", ["KXNEXT-27"], ["KXHIGHNY"]),
        ("the series KXHIGHNY", [], []),
        ("order book of kxhigh-26", ["KXNEXT-27"], ["kxhigh-26"]),
        ("NATO and the USA", ["KXNEXT-27"], []),
    ],
)
def test_identifiers(text: str, shown: list[str], found: list[str]) -> None:
    assert find_identifiers(text, shown) == found


@pytest.mark.parametrize(
    ("request_text", "subject"),
    [
        ("What can you do?", "all skills"),
        ("tell me what you can do", "all skills"),
        ("How can you help me?", "all skills"),
        ("What kind of things are you able to help me with?", "all skills"),
        ("so what are you actually able to do for me?", "all skills"),
        ("hey, what can u do", "all skills"),
        ("What are your capabilities?", "all skills"),
        ("Which abilities do you possess?", "all skills"),
        ("which skils are availabel", "all skills"),
        ("help", "all skills"),
        ("Show me everything you have got installed", "all skills"),
        ("what have you got available?", "all skills"),
        ("tell me all you know about bees", None),
        ("What do you have against bees?", None),
        ("describe library desk in a few words", "library-desk"),
        ("What is the library desk?", "library-desk"),
        ("When is the library desk open?", None),
        ("Was kannst du alles?", "all skills"),
        ("Que peux-tu faire ?", "all skills"),
        ("¿Qué puedes hacer?", "all skills"),
        ("Welche Skills sind geladen?", "all skills"),
        ("I came across library-desk. What does it do exactly?", "library-desk"),
        ("I came across library-desk. What does it cost to run its script?", None),
        ("Install the skill at skills/blue from the repo a/skills", None),
        ("What skills does a good manager need?", None),
        ("what can you do against a cold?", None),
        ("help me with my homework", None),
        ("What are you doing?", None),
        ("What do you think?", None),
        ("Explain what the library skill does", "library-desk"),
        ("What does the book skill do?", "library-desk"),
        ("Give me a summary of the town library skill", "library-desk"),
        ("Does library-desk know who borrowed a book?", "library-desk"),
        ("Does library-desk have scripts?", None),
        ("What is a skill?", None),
    ],
)
def test_questions_about_skills(request_text: str, subject: str | None) -> None:
    assert asked_about([SKILL], request_text) == subject


DESK, SAILS = (
    SKILL,
    SkillMetadata("sail-maker", "Sews sails for boats.", Path("sail-maker/SKILL.md")),
)


@pytest.mark.parametrize(
    ("request_text", "subject"),
    [
        ("what skills are there besides sewing sails?", "all skills"),
        ("hey, i'm new. what sort of things can i ask you to help with", "all skills"),
        ("show me all available skills pls", "all skills"),
        ("Welche Skills sind gerade verfügbar?", "all skills"),
        ("how does sail-maker work? which steps does it go through", "sail-maker"),
        ("sail-maker - what can it do that a needle can't?", "sail-maker"),
        ("Tell me more about the skill that sews.", "sail-maker"),
        ("which skill should I use for boats?", "sail-maker"),
        ("do you have a skill for boats?", "sail-maker"),
        ("is there a skill for PDFs?", "all skills"),
        ("describe the skill pdf-tools", "pdf-tools"),
        ("What does the weather skill do?", "weather"),
        ("sail maker whats that", "sail-maker"),
        ("use the skill that sews to mend this", None),
        ("write a skill that sews", None),
        ("create a skill called pdf-tools", None),
        ("what does the new skill do", "new"),
        ("What do you put over a sofa in winter?", None),
        ("with sail-maker, how likely is it that it holds?", None),
    ],
)
def test_skills_are_asked_about_in_many_ways(request_text: str, subject: str | None) -> None:
    assert asked_about([DESK, SAILS], request_text) == subject


@pytest.mark.parametrize(
    ("request_text", "told", "subject"),
    [
        ("And the library one?", "sail-maker", "library-desk"),
        ("and the second one?", "all skills", "sail-maker"),
        ("tell me more about the last one", "all skills", "sail-maker"),
        ("and the second one?", "sail-maker", None),
        ("sew a sail", "all skills", None),
    ],
)
def test_after_one_skill_another_is_asked_about(request_text: str, told: str, subject: str | None) -> None:
    before = f"what is that?\n{describe(told, [DESK, SAILS])}"
    assert asked_about([DESK, SAILS], request_text, before) == subject
    assert asked_about([DESK, SAILS], request_text, "Who are you?\nA program.") is None


def test_a_skill_that_is_not_there_is_not_described() -> None:
    assert describe("weather", [SAILS]).startswith(
        "There is no skill called weather here. I answer questions"
    )


def test_a_script_may_be_named_by_a_part_of_its_name() -> None:
    found = for_script("give me Dune, from the card script")
    assert isinstance(found, Narrowed)
    assert found.script == ("library-desk", "book_card")
    assert for_script("show the library script") is None


def test_words_are_not_put_in_the_place_of_options() -> None:
    shown = examples_of(
        replace(SKILL, metadata={"examples": "Remind Ann at noon => opening --name Ann --time 12:00"}),
        SCRIPTS["library-desk"],
    )
    assert call_like_example("Remind Bo about it", TOOLS, shown, [SKILL]) is None
    found = call_for_script("run the opening script for Bo", TOOLS, SCRIPTS, shown)
    assert isinstance(found, Narrowed), "which option Bo belongs to has to be understood"


def test_an_everyday_word_of_a_scripts_name_is_too_little_for_a_question() -> None:
    assert like_example("Which loans did banks give in Rome?") is None


PAGES = {"pages": ["page_to_image", "count_words", "page_test"]}


@pytest.mark.parametrize(
    ("request_text", "script"),
    [
        ("turn the first page of a.txt into an image", "page_to_image"),
        ("Please count the words in a.txt", "count_words"),
        ("How do I count words in Emacs?", None),
        ("count the lines in a.txt", None),
    ],
)
def test_a_script_whose_name_is_said_in_other_words_is_meant(request_text: str, script: str | None) -> None:
    found = call_for_script(request_text, TOOLS, PAGES)
    assert (found.script if isinstance(found, Narrowed) else found) == (script and ("pages", script))
    shown = examples_of(replace(SKILL, name="pages"), PAGES["pages"])
    assert call_for_script(request_text, TOOLS, PAGES, shown) is None, "its examples say more"


def test_the_only_script_is_meant_by_whoever_names_a_file_or_an_address() -> None:
    found = call_for_script("grab https://example.org/a in 720p", TOOLS, {"grabber": ["fetch_film"]})
    assert isinstance(found, Narrowed)
    assert call_for_script("grab something nice", TOOLS, {"grabber": ["fetch_film"]}) is None
    assert call_for_script("grab https://example.org/a", TOOLS, {"grabber": ["one_way", "other_way"]}) is None


def test_a_name_is_looked_for_whole() -> None:
    assert like_example("Do you have books about Doctor Who?") == run("find", "Doctor", "Who")
