"""The lines that name the skills nearest to a request."""

from pathlib import Path

from skillkit.core.models import SkillMetadata, SourceType
from skillkit.disclosure import TokenEstimator
from skillkit.disclosure.notes import nearby
from skillkit.disclosure.offer import NEAREST, nearest, worth_naming
from skillkit.matching import Match

COUNTER = TokenEstimator()
NEARBY_TOKENS = 200


def matches(number: int) -> list[Match]:
    text = "Compare quarterly figures of two regions and explain where they differ"
    skills = (
        SkillMetadata(f"figures-{at}", text, Path("SKILL.md"), SourceType.CUSTOM) for at in range(number)
    )
    return [Match(skill, 0.4, ("why",)) for skill in skills]


def test_a_few_near_skills_keep_their_whole_lines():
    assert len({len(line) for line in nearby(matches(3), COUNTER.count, NEARBY_TOKENS).splitlines()[1:]}) == 1


def test_of_many_near_skills_more_are_named_in_shorter_lines():
    lines = nearby(matches(NEAREST), COUNTER.count, NEARBY_TOKENS).splitlines()[1:]
    assert len(lines) > 10
    assert len(lines[4]) > len(lines[5])
    assert COUNTER.count("\n".join(lines)) <= NEARBY_TOKENS


def test_without_near_skills_nothing_is_said():
    assert nearby([], COUNTER.count, NEARBY_TOKENS) == ""


def test_every_named_skill_keeps_some_words_of_what_it_does():
    lines = nearby(matches(NEAREST), COUNTER.count, NEARBY_TOKENS).splitlines()[1:]
    assert all("Compare" in line for line in lines)


def test_as_many_skills_are_worth_a_line_in_a_large_library():
    """The line rises with the library, so that a skill which is as near as before has less confidence."""
    assert worth_naming(3) == worth_naming(100) > worth_naming(1_000) > worth_naming(10_000) > 0
    skill = SkillMetadata("figures", "Compare figures", Path("SKILL.md"), SourceType.CUSTOM)
    (far,) = [Match(skill, 0.003, ("why",))]
    assert nearest([far], [], worth_naming(100)) == []
    assert nearest([far], [], worth_naming(1_000)) == [far]


def test_what_is_in_use_or_says_the_same_takes_no_line():
    first, second = matches(2)
    assert nearest([first, second], [], 0.0) == [first]
    assert nearest([first, second], [first.skill], 0.0) == []
