"""The lines that name the skills nearest to a request."""

from pathlib import Path

from skillkit.core.models import SkillMetadata, SourceType
from skillkit.disclosure import TokenEstimator
from skillkit.disclosure.notes import nearby
from skillkit.disclosure.offer_matcher import NEAREST
from skillkit.disclosure.provider import NEARBY_TOKENS
from skillkit.matching import Match

COUNTER = TokenEstimator()


def matches(number: int) -> list[Match]:
    text = "Compare quarterly figures of two regions and explain where they differ"
    skills = (
        SkillMetadata(f"figures-{at}", text, Path("SKILL.md"), SourceType.CUSTOM) for at in range(number)
    )
    return [Match(skill, 0.4, ("why",)) for skill in skills]


def test_a_few_near_skills_keep_their_whole_lines():
    assert len({len(line) for line in nearby(matches(3), COUNTER, NEARBY_TOKENS).splitlines()[1:]}) == 1


def test_of_many_near_skills_more_are_named_in_shorter_lines():
    lines = nearby(matches(NEAREST), COUNTER, NEARBY_TOKENS).splitlines()[1:]
    assert len(lines) > 10
    assert len(lines[2]) > len(lines[3])
    assert COUNTER.count("\n".join(lines)) <= NEARBY_TOKENS


def test_without_near_skills_nothing_is_said():
    assert nearby([], COUNTER, NEARBY_TOKENS) == ""
