"""What is asked about, and with what: of several scripts, of a skill that was spoken of, at a time of day."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillkit.agent.models.asked_parts import asking_part, is_self_contained
from skillkit.agent.models.constrained import Answer, Call, Question, ToolSpec
from skillkit.agent.models.example_calls import call_like_example
from skillkit.agent.models.examples import examples_of
from skillkit.agent.models.given_values import as_examples_give, complete, with_said_choices
from skillkit.agent.models.grounding import MadeUp, Spoken, as_before, check_arguments
from skillkit.agent.models.reply_choice import Choice
from skillkit.agent.models.script_requests import Narrowed, call_for_script, content_words
from skillkit.agent.models.skill_answers import asked_about, describe, spoken_of
from skillkit.agent.models.skill_text import sentences_about
from skillkit.agent.models.skill_use import SkillUse
from skillkit.agent.models.spoken_times import spoken_time
from skillkit.core.models import SkillMetadata, Triggers
from skillkit.disclosure.envelope import skill_context

TEXT = {"type": "string"}
RUN = ToolSpec(
    "script_run", "Run a script.", {"properties": {"skill_id": TEXT, "script_name": TEXT}, "required": []}
)
LIST = ToolSpec("script_list", "List scripts.", {"properties": {"skill_id": TEXT}}, about="script")
WAVE = ToolSpec("wave_at", "Wave.", {"properties": {"name": TEXT}, "required": ["name"]})
SCRIPTS = ["shelf", "shelves", "loans", "flag"]
DESK = SkillMetadata(
    "library-desk",
    "Books, shelves and loans of the town library, read-only.",
    Path("library-desk/SKILL.md"),
    triggers=Triggers(keywords=("library", "wave"), patterns=(r"\bshel(f|ves)\b", r"\bloans\b")),
    metadata={
        "examples": """\
Show the shelf SH-12 => shelf SH-12
Which loans has the shelf SH-12? => loans --shelf SH-12
Which shelves has the room RM-A => shelves --room RM-A
wave at Ann => wave_at name=Ann
Wave a flag for Ann at dawn => flag --name Ann --time 06:00
"""
    },
)
SAILS = SkillMetadata("sail-maker", "Sews and mends sails.", Path("sail-maker/SKILL.md"))
SKILLS = [DESK, SAILS]
EXAMPLES = examples_of(DESK, SCRIPTS)
BODY = """\
# Desk

No card is needed and nothing can be borrowed here.

| to | run |
|---|---|
| see a card | `shelf` |

- Rooms are closed
  on Sundays. Ask the porter.
"""
IN_USE = skill_context("library-desk", BODY, (), "00aa")


def run(script: str, *args: str) -> Call:
    return Call("script_run", {"skill_id": "library-desk", "script_name": script, "args": list(args)})


def like_example(request: str, said: str = "") -> object:
    return call_like_example(request, [RUN], EXAMPLES, SKILLS, said=said)


def known(request: str, before: str = "") -> object:
    spoken = Spoken(request, f"{before}\n{request}", IN_USE, before)
    return SkillUse(SKILLS, EXAMPLES, {"library-desk": SCRIPTS}).known_outcome([RUN, LIST, WAVE], spoken, [])


@pytest.mark.parametrize(
    ("request_text", "call"),
    [
        ("the loans of shelf SH-99", run("loans", "--shelf", "SH-99")),
        ("which loans has the SH-99 shelf", run("loans", "--shelf", "SH-99")),
        ("which shelves does the room RM-B have?", run("shelves", "--room", "RM-B")),
        ("show me shelf SH-99", run("shelf", "SH-99")),
        ("which late ones are on the shelves in RM-B", run("shelves", "--room", "RM-B")),
    ],
)
def test_what_belongs_to_a_thing_is_wanted_and_not_the_thing(request_text: str, call: Call) -> None:
    assert like_example(request_text) == call


def test_an_identifier_that_was_asked_for_belongs_to_what_it_was_asked_for() -> None:
    assert known("SH-99", "show me a shelf\nWhich one do you mean, for shelf?") == run("shelf", "SH-99")
    assert known("SH-99", "which loans are there\nWhich one do you mean, for loans?") == run(
        "loans", "--shelf", "SH-99"
    )


def test_more_that_is_said_of_it_is_for_the_model_to_fill_in() -> None:
    narrowed = like_example("the loans of shelf SH-99 that are late")
    assert isinstance(narrowed, Narrowed)
    assert narrowed.script == ("library-desk", "loans")


@pytest.mark.parametrize(
    ("request_text", "script"),
    [
        ("run the loans script for the shelf SH-9, late ones", "loans"),
        ("run shelves --room RM-B", "shelves"),
        ("run the shelf script for loans of SH-9", "shelf"),
    ],
)
def test_of_several_names_the_one_that_is_called_a_script_or_run_counts(
    request_text: str, script: str
) -> None:
    found = call_for_script(request_text, [RUN], {"library-desk": SCRIPTS}, EXAMPLES)
    chosen = found.script[1] if isinstance(found, Narrowed) and found.script else None
    assert script == (chosen or (found.arguments["script_name"] if isinstance(found, Call) else None))


def test_what_was_spoken_of_is_meant_where_a_script_needs_one() -> None:
    assert like_example("show me the loans", "the shelf SH-12") == run("loans", "--shelf", "SH-12")
    assert isinstance(like_example("show me 10 loans", "the shelf SH-12"), Narrowed)
    assert like_example("show me the loans") == Answer("Which one do you mean, for loans?")


@pytest.mark.parametrize(
    ("said", "time"),
    [
        ("half past seven in the evening", (19, 30)),
        ("quarter to nine", (8, 45)),
        ("it is six o'clock", (6, 0)),
        ("8 in the morning", (8, 0)),
        ("from 9:00 to 17:00", None),
        ("ten people", None),
    ],
)
def test_one_time_of_day_may_be_told_in_words(said: str, time: tuple[int, int] | None) -> None:
    assert spoken_time(said) == time


@pytest.mark.parametrize(
    ("request_text", "narrowed"),
    [
        ("wave at Cleo, it is 7pm", True),
        ("wave at everyone, it is 7 PM", False),
        ("wave at Cleo", False),
        ("How do you wave at people at 7pm?", False),
        ("It is 7pm and the wave is high", False),
    ],
)
def test_who_tells_a_time_wants_the_script_that_takes_one(request_text: str, narrowed: bool) -> None:
    found = like_example(request_text)
    assert (isinstance(found, Narrowed) and found.script == ("library-desk", "flag")) is narrowed


def test_who_says_a_choice_of_an_option_wants_the_script_that_has_it() -> None:
    def usage(skill: str, script: str) -> str:
        return "--colour  one of red, blue; default 'red'" if script == "flag" else ""

    for request, narrowed in (("wave at Cleo in blue", True), ("wave at Cleo in red", False)):
        found = call_like_example(request, [RUN], EXAMPLES, SKILLS, usage=usage)
        assert (isinstance(found, Narrowed) and found.script == ("library-desk", "flag")) is narrowed


@pytest.mark.parametrize(
    ("request_text", "kept"),
    [
        ("could you wave a good afternoon to Dr. Lindqvist?", {"name": "Dr. Lindqvist"}),
        ("wave at Dr. Lindqvist in Swedish", {"name": "Dr. Lindqvist", "language": "sv"}),
        ("say hej to Dr. Lindqvist", {"name": "Dr. Lindqvist", "language": "sv"}),
    ],
)
def test_a_language_is_not_derived_from_a_name(request_text: str, kept: dict[str, str]) -> None:
    spec = ToolSpec(
        "wave_at", "Wave.", {"properties": {"name": TEXT, "language": TEXT}, "required": ["name"]}
    )
    call = Call("wave_at", {"name": "Dr. Lindqvist", "language": "sv"})
    assert check_arguments(call, [spec], Spoken(request_text)) == Call("wave_at", kept)


def test_a_language_may_have_been_said_before_the_question_back() -> None:
    spec = ToolSpec(
        "wave_at", "Wave.", {"properties": {"name": TEXT, "language": TEXT}, "required": ["name"]}
    )
    call = Call("wave_at", {"name": "Bo", "language": "sw"})
    said = "wave at my boss in Swahili\nBo"
    for before, kept in (("… in Swahili\nWho is that?", True), ("… in Swahili\nDone.", False)):
        found = check_arguments(call, [spec], Spoken("Bo", said, "", before))
        assert isinstance(found, Call)
        assert ("language" in found.arguments) is kept


@pytest.mark.parametrize(
    ("said", "given"), [("wave at Jo", []), ("wave at Jo in French", ["--language", "fr"])]
)
def test_nor_by_an_option(said: str, given: list[str]) -> None:
    spec = ToolSpec(
        "script_run",
        "Run.",
        {"properties": {"script_name": TEXT, "args": {"type": "array", "items": TEXT}}, "required": []},
    )
    call = Call("script_run", {"script_name": "wave", "args": ["--language", "fr", "--name", "Jo"]})
    found = check_arguments(call, [spec], Spoken(said))
    assert isinstance(found, Call)
    assert found.arguments["args"] == [*given, "--name", "Jo"]


@pytest.mark.parametrize(
    ("request_text", "call"),
    [
        ("is the library open or is it shut for repairs all week?", "opening"),
        ("check whether the library is open to children tonight", "opening"),
        ("are there any open books on bees and honey?", None),
    ],
)
def test_how_something_is_may_be_asked_in_many_words(request_text: str, call: str | None) -> None:
    desk = replace(
        DESK, metadata={"examples": "Is the library open or closed? => opening\nBooks on bees => find bees"}
    )
    shown = examples_of(desk, ["opening", "find"])
    found = call_like_example(request_text, [RUN], shown, [desk])
    assert (found.arguments["script_name"] if isinstance(found, Call) else None) in (call, call or "find")


def test_a_word_of_a_script_may_belong_to_a_name() -> None:
    assert content_words("and the World Series", {"seri"}) == ["World", "Series"]
    assert content_words("Find Library Series on whales", {"seri", "librari"}) == ["whales"]


def test_words_beside_an_identifier_are_left_out() -> None:
    call = run("shelf", "SH-9", "--depth", "3", "NO")
    assert as_examples_give(call, EXAMPLES, "SH-9, top 3") == run("shelf", "SH-9", "--depth", "3")


@pytest.mark.parametrize(
    ("script", "args", "request_text", "given"),
    [
        ("flag", ["--name", "Cleo"], "it is 7pm", ["--name", "Cleo", "--time", "19:00"]),
        ("flag", ["Cleo", "--time", "07:00"], "it is 7pm", ["--name", "Cleo", "--time", "07:00"]),
        ("flag", ["Cleo"], "from 7pm to 9pm", ["--name", "Cleo"]),
        ("shelf", ["SH-9"], "it is 7pm", ["SH-9"]),
    ],
)
def test_a_script_gets_its_values_as_examples_give_them(
    script: str, args: list[str], request_text: str, given: list[str]
) -> None:
    assert as_examples_give(run(script, *args), EXAMPLES, request_text) == run(script, *given)


@pytest.mark.parametrize(
    ("request_text", "given"),
    [
        ("the loans of SH-9 that are open", ["--shelf", "SH-9", "--state", "open"]),
        ("the loans of SH-9, open or late", ["--shelf", "SH-9"]),
        ("the loans of SH-9", ["--shelf", "SH-9"]),
    ],
)
def test_a_choice_of_an_option_that_was_said_is_given(request_text: str, given: list[str]) -> None:
    usage = "loans takes these:\n--shelf  Only of this shelf.\n--state  one of open, late; default late"
    assert with_said_choices(run("loans", "--shelf", "SH-9"), usage, request_text) == run("loans", *given)


def test_a_choice_is_not_left_behind_another_option() -> None:
    def usage(skill: str, script: str) -> str:
        return "--shelf  Only of this shelf.\n--state  one of open, late; default late"

    found = complete(run("loans", "--shelf", "open"), EXAMPLES, usage, "the open loans")
    assert found == run("loans", "--state", "open")


@pytest.mark.parametrize("said", ["lol ok", "thanks, good night, see you tomorrow"])
def test_a_few_words_are_talk(said: str) -> None:
    use = SkillUse(SKILLS, EXAMPLES, {"library-desk": SCRIPTS})
    assert use.choice([RUN, LIST, WAVE], Spoken(said, said), None, required=False).is_talk


def test_a_question_that_asks_nothing_asks_for_what_is_missing() -> None:
    choice = Choice([WAVE], forms=("ask",))
    assert choice.asking(Question("Hello!")) == Question("Which name do you mean?")
    assert choice.asking(Question("Who is it?")) == Question("Who is it?")
    assert Choice(forms=("ask",)).asking(Question("Hello!")) == Question("Hello!")
    made_up = MadeUp("wave_at", "Which name do you mean?")
    assert choice.after(made_up, "wave at my team") is None
    assert Choice(forms=("ask",)).asking(Question("Hello!"), made_up) == made_up


@pytest.mark.parametrize(
    ("request_text", "before", "subject"),
    [
        ("library-desk: can it lend books?", "", "library-desk"),
        ("can it lend books?", describe("library-desk", SKILLS), "library-desk"),
        ("can it lend books?", f"{describe('library-desk', SKILLS)} No card is needed.", "library-desk"),
        ("can it lend books?", "A library.", None),
        ("is it true that bees sleep?", describe("library-desk", SKILLS), None),
        ("and the sewing one?", describe("all skills", SKILLS), "sail-maker"),
        ("tell me what sail maker does", "", "sail-maker"),
        ("how does library-desk differ from sail-maker?", "", "all skills"),
        ("info on paint-mixer skill", "", "paint-mixer"),
        ("what else can you do besides sails?", "", "all skills"),
        ("Can you do anything with boats? And what else is there?", "", "all skills"),
        ("remind me what youre able to do?", "", "all skills"),
        ("what else is there to see in Rome?", "", None),
        ("sail-maker: explain pls", "", "sail-maker"),
        ("what can I do here?", "", "all skills"),
        ("what are you good for anyway", "", "all skills"),
        ("what abilities come with this thing", "", "all skills"),
    ],
)
def test_a_question_about_a_skill(request_text: str, before: str, subject: str | None) -> None:
    assert asked_about(SKILLS, request_text, before) == subject


@pytest.mark.parametrize(
    ("request_text", "subject"),
    [
        ("what version is sail-maker", True),
        ("was macht der skill sail-maker", True),
        ("How does the sail skill work, and do I need an account for it?", True),
        ("explain what sail-maker offers and what its limits are", True),
        ("what does sail-maker say about boats", False),
        ("what loans has sail-maker", False),
        ("mend this with haste, sail-maker", False),
    ],
)
def test_what_is_not_for_its_use_is_about_the_skill(request_text: str, subject: bool) -> None:
    assert (asked_about(SKILLS, request_text) == "sail-maker") is subject


def test_a_skill_that_was_described_is_called_it() -> None:
    before = describe("library-desk", SKILLS)
    assert spoken_of(SKILLS, "which scripts does it have?", before) == "library-desk"
    assert spoken_of(SKILLS, "which scripts are there?", before) is None
    assert known("which scripts does it have?", before) == Call("script_list", {"skill_id": "library-desk"})


def test_a_skill_answers_with_its_own_sentences() -> None:
    described = describe("library-desk", SKILLS)
    assert known("does library-desk need a card?") == Answer(
        f"{described} No card is needed and nothing can be borrowed here."
    )
    assert sentences_about("library-desk", "is it closed on Sundays", described, IN_USE) == (
        "Rooms are closed on Sundays."
    )
    assert sentences_about("library-desk", "may I smoke?", described, IN_USE) == ""
    assert sentences_about("sail-maker", "closed on Sundays?", "", IN_USE) == ""


def test_what_no_skill_in_use_declares_is_refused_honestly() -> None:
    assert known("what time is it") == Answer(
        "I cannot look that up: I have no tool for it, and what I know may be out of date."
    )


@pytest.mark.parametrize(
    ("request_text", "contained"),
    [
        ("I love this library!", True),
        ("I really miss the old library", True),
        ("I like Ann, wave at her", False),
        ("I am looking for a shelf in the library", False),
        ("The library was closed. Write a limerick on rain.", True),
    ],
)
def test_what_somebody_says_of_himself_asks_for_nothing(request_text: str, contained: bool) -> None:
    assert is_self_contained(request_text, [DESK]) is contained


def test_another_name_is_for_what_was_done_before() -> None:
    before = Call("wave_at", {"name": "Ola", "language": "es"})
    call = Call("wave_at", {"name": "Per"})
    for said, language in (("and Per", "es"), ("and in the end I met somebody whose name is Per", None)):
        assert as_before(call, before, Spoken(said, said)).arguments.get("language") == language


def test_work_on_words_may_follow_what_was_told() -> None:
    assert asking_part("The library is far. Write a limerick on rain.") == "Write a limerick on rain."
    assert asking_part("Ann is ill. Write to her.") == "Ann is ill. Write to her."
