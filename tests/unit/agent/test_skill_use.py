"""What a request comes to by the skills in use: what is known, and what the model may reply."""

from pathlib import Path

import pytest

from skillkit.agent.models.constrained import Call, ToolSpec
from skillkit.agent.models.examples import choose, examples_of
from skillkit.agent.models.grounding import Spoken, check_arguments
from skillkit.agent.models.reply_choice import Choice
from skillkit.agent.models.script_usage import usage_of
from skillkit.agent.models.skill_use import SkillUse
from skillkit.agent.models.spoken_times import spoken_times
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata, Triggers

TEXT = {"type": "string"}
WAVE = ToolSpec("wave_at", "Wave at one person.", {"properties": {"name": TEXT}, "required": ["name"]})
WAVE_ALL = ToolSpec("wave_at_all", "Wave at several.", {"properties": {"names": TEXT}, "required": ["names"]})
RUN = ToolSpec(
    "script_run",
    "Run a script.",
    {
        "properties": {
            "skill_id": {**TEXT, "enum": ["waver"]},
            "script_name": {**TEXT, "enum": ["flag"]},
            "args": {"type": "array", "items": TEXT},
        },
        "required": ["skill_id", "script_name"],
    },
)
WAVER = SkillMetadata(
    "waver",
    "Waves at people.",
    Path("waver/SKILL.md"),
    triggers=Triggers(keywords=("wave",), verbs=("salute",), patterns=(r"\bwinke\b",)),
    metadata={
        "examples": """\
wave at Ann => wave_at name=Ann
wave at Ann and Bo => wave_at_all names=Ann,Bo,
Wave a flag for Ann at dawn => flag --name Ann --time 06:00
"""
    },
)
USE = SkillUse([WAVER], examples_of(WAVER, ["flag"]), {"waver": ["flag"]})


def choice(request: str, before: str = "", last: Call | None = None) -> Choice:
    said = f"{before}\n{request}"
    return USE.choice(
        [WAVE, WAVE_ALL, RUN], Spoken(request, said, "", before), None, required=False, last=last
    )


def names(found: Choice) -> set[str]:
    return {tool.name for tool in found.tools}


@pytest.mark.parametrize(
    "request_text", ["Could you wave at my neighbour?", "winke bitte Ben", "wave 2 jo and bo", "Salute jo"]
)
def test_what_a_skill_declares_and_somebody_commands_is_done_or_asked_for(request_text: str) -> None:
    found = choice(request_text)
    assert names(found) == {"wave_at", "wave_at_all"}
    assert found.forms == ("ask",)


def test_a_script_is_offered_where_a_word_of_its_examples_was_said() -> None:
    assert "script_run" in names(choice("wave at Cleo with a flag"))


def test_what_is_asked_rarely_is_shown_only_then() -> None:
    shown, *_ = [example for example in USE.examples if example.script]
    for request, nearest in (("wave at Cleo", []), ("wave at Cleo with a flag", [shown])):
        found = choose(request, USE.examples)
        assert (shown in found.fixed, list(found.nearest)) == (False, nearest)


@pytest.mark.parametrize(
    "request_text",
    ["How tall is the biggest wave?", "what does 'winke' mean", "Write about surfing people in Java"],
)
def test_questions_and_work_on_words_are_not_for_tools(request_text: str) -> None:
    declared = request_text.startswith("How")
    assert choice(request_text).is_talk is not declared


def test_the_answer_to_a_question_back_belongs_to_the_request_before_it() -> None:
    found = choice("Her name is Thu", "Wave at my friend\nWhat is her name?")
    assert (names(found), found.forms) == ({"wave_at", "wave_at_all"}, ("ask",))
    assert choice("Her name is Thu", "Who am I?\nA friend.").forms != ("ask",)


def test_a_short_request_goes_on_from_the_last_call() -> None:
    last = Call("wave_at", {"name": "Ann"})
    found = choice("ok and now Ben", "wave at Ann\nI waved.", last)
    assert (names(found), found.forms) == ({"wave_at", "wave_at_all"}, ("ask",))
    assert choice("ok and now Ben", "wave at Ann\nI waved.").forms != ("ask",)


@pytest.mark.parametrize(
    ("said", "times"),
    [
        ("it's 8:15 over there", {(8, 15)}),
        ("7pm", {(19, 0)}),
        ("at 12 a.m. or noon", {(0, 0), (12, 0)}),
        ("at 7:30 in the evening", {(7, 30), (19, 30)}),
        ("seven people, 2 dogs", set()),
    ],
)
def test_times_of_day_are_understood(said: str, times: set[tuple[int, int]]) -> None:
    assert spoken_times(said) == times


def test_a_time_is_kept_if_it_was_said_in_another_way() -> None:
    def checked(time: str) -> object:
        call = Call("script_run", {"skill_id": "waver", "script_name": "flag", "args": ["--time", time]})
        found = check_arguments(call, [RUN], Spoken("wave the flag at 8pm", "wave the flag at 8pm"))
        return found.arguments["args"] if isinstance(found, Call) else found

    assert checked("20:00") == ["--time", "20:00"]
    assert checked("09:00") == []


def test_what_a_script_takes_is_told_in_few_words(write_skill, tmp_path: Path) -> None:
    folder = write_skill("waver", into=tmp_path)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "flag.py").write_text(
        "import argparse\nCOLOURS = {'red': 1, 'blue': 2}\np = argparse.ArgumentParser()\n"
        "p.add_argument('--colour', choices=COLOURS, help='of the flag')\np.add_argument('--json')\n"
    )
    manager = SkillManager(project_skill_dir=tmp_path)
    manager.discover()
    told = usage_of(manager.get_skill("waver"), "flag")
    assert "--colour  of the flag; one of red, blue" in told
    assert "--json" not in told
    assert usage_of(manager.get_skill("waver"), "missing") == ""


@pytest.mark.parametrize(("request_text", "offered"), [("sew me a flag", True), ("regex for a year", False)])
def test_a_skill_is_loaded_for_what_it_says_of_itself(request_text: str, offered: bool) -> None:
    sewer = SkillMetadata("sewer", "Sews flags.", Path("sewer/SKILL.md"))
    load = ToolSpec(
        "load_skill",
        "Load a skill.",
        {"properties": {"skill_id": {**TEXT, "enum": ["sewer"]}}, "required": ["skill_id"]},
    )
    found = SkillUse([sewer], [], {}).choice([load], Spoken(request_text, request_text), None, required=False)
    assert (names(found) == {"load_skill"}) is offered
