"""Slips in the words by which skills are asked for."""

from pathlib import Path

import pytest

from skillkit.agent.models.spelling import correct_spelling
from skillkit.core.models import SkillMetadata, Triggers

SKILLS = [
    SkillMetadata(
        "greeter",
        "Greets people.",
        Path("greeter/SKILL.md"),
        triggers=Triggers(keywords=("greet", "say hello", "hola"), verbs=("welcome",)),
    )
]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Gret Fatima in Arabic", "greet Fatima in Arabic"),
        ("please wlecome Bo", "please welcome Bo"),
        ("wellcome Bo", "welcome Bo"),
        ("please greeet Bo", "please greet Bo"),
        ("Great work, Bo", "Great work, Bo"),  # a word of its own
        ("Ask Gret for it", "Ask Gret for it"),  # a name
        ("open gret.txt and x/gret", "open gret.txt and x/gret"),
        ("holla Bo", "holla Bo"),  # too short a word to be sure
        ("gerte Bo", "gerte Bo"),  # more than one slip
    ],
)
def test_one_slip_in_a_word_that_a_skill_declares_is_corrected(written: str, meant: str) -> None:
    assert correct_spelling(written, SKILLS) == meant


def test_skills_that_declare_nothing_correct_nothing() -> None:
    assert correct_spelling("Gret Fatima", []) == "Gret Fatima"
