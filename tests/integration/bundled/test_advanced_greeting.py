"""The greeting script of hello-extended: by name, language, title, style and time of day."""

import pytest

SCRIPT = "hello-extended/advanced_greeting"


@pytest.mark.parametrize(
    ("time", "part", "greeting"),
    [
        ("04:00", "morning", "Buenos días, Ada"),
        ("11:59", "morning", "Buenos días, Ada"),
        ("12:00", "afternoon", "Buenas tardes, Ada"),
        ("18:00", "evening", "Buenas noches, Ada"),
        ("03:59", "evening", "Buenas noches, Ada"),
    ],
)
def test_the_greeting_follows_the_time_of_day(run, time, part, greeting):
    ran = run(SCRIPT, "--name", "Ada", "--language", "es", "--time", time, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {"greetings": [greeting], "language": "Spanish", "part_of_day": part}


def test_several_names_with_a_title_in_a_language_by_name(run):
    ran = run(
        SCRIPT,
        "--name",
        "Ada",
        "--name",
        "{0.x}",
        "--title",
        "Dr.",
        "--language",
        "French",
        "--time",
        "09:00",
    )
    assert ran.out == "Bonjour, Dr. Ada\nBonjour, Dr. {0.x}\n"


def test_style_and_format(run):
    given = ["--name", "Ada", "--time", "09:00", "--style", "excited"]
    assert run(SCRIPT, *given, "--format", "markdown").out == "- **Good morning, Ada!**\n"
    assert run(SCRIPT, *given, "--format", "banner").out == "*** Good morning, Ada! ***\n"


def test_without_arguments_the_world_is_greeted_by_the_clock_of_the_machine(run):
    answer = run(SCRIPT, "--json").json
    assert answer["greetings"][0].endswith(", World")
    assert answer["part_of_day"] in ("morning", "afternoon", "evening")


def test_text_is_utf_8_whatever_the_locale(run):
    ran = run(SCRIPT, "--language", "zh", "--time", "09:00", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ran.out == "早上好，World\n"


@pytest.mark.parametrize(
    "wrong", [["--language", "tlh"], ["--time", "noon"], ["--style", "loud"], ["--what"]]
)
def test_wrong_use_is_told_as_json_too(run, wrong):
    ran = run(SCRIPT, *wrong, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "usage")
    assert "usage:" in ran.err
    assert run(SCRIPT, *wrong).out == ""
