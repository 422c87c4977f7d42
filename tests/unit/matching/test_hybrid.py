"""The sum of words, meaning and instructions, and what happens when one of them is missing."""

import pytest

from skillkit.core.exceptions import ContentLoadError
from skillkit.matching import MatchingSettings, SkillMatcher

QUIET = MatchingSettings()
LONG = "Sharpen knives with a whetstone at twenty degrees. Strop the blade on leather. Oil the handle. " * 12


def test_every_mode_says_what_its_scores_are_made_of(everyday):
    assert SkillMatcher(everyday, settings=QUIET).signals == ("lexical", "body")
    assert SkillMatcher(everyday, mode="lexical", settings=QUIET, body=None).signals == ("lexical",)
    assert SkillMatcher(everyday, mode="hybrid", settings=QUIET).signals == ("lexical", "body", "semantic")
    assert SkillMatcher(everyday, mode="semantic", settings=QUIET).signals == ("semantic",)
    assert SkillMatcher(everyday, mode="keyword", settings=QUIET).signals == ("keyword",)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("get the tables out of this scanned PDF form", "pdf-extractor"),
        ("why is this database query so slow, do I need an index?", "sql-tuning"),
        ("cut this video clip and add subtitles to it", "movie-cutter"),
    ],
)
@pytest.mark.parametrize("body", ["", LONG])
def test_skills_match_whether_or_not_they_have_instructions(everyday, request_, expected, body):
    matcher = SkillMatcher(everyday, settings=QUIET, body=lambda skill: skill.description if body else "")
    assert [match.skill.name for match in matcher.match(request_)][:1] == [expected]
    assert matcher.match("What is the capital of France?") == []


def test_instructions_decide_between_equal_descriptions(make_skill):
    one = make_skill("kitchen-one", "Kitchen chores", body=LONG)
    two = make_skill("kitchen-two", "Kitchen chores", body=LONG.replace("knives", "scissors"))
    matcher = SkillMatcher([one, two], settings=QUIET)
    ranked = matcher.rank("kitchen scissors")
    assert ranked[0].skill is two
    assert "its instructions mention scissors" in " ".join(ranked[0].reasons)


def test_instructions_that_cannot_be_read_count_as_none(everyday):
    def unreadable(skill):
        if skill.name == "image":
            raise OSError("gone")
        raise ContentLoadError("gone")

    matcher = SkillMatcher(everyday, settings=QUIET, body=unreadable)
    assert matcher.match("compress and crop pictures for the web")[0].skill.name == "image"


def test_a_skill_can_go_before_and_after_its_instructions_were_read(make_skill):
    one, two = make_skill("kitchen-one", "Kitchen chores", body=LONG), make_skill("garden", "Mow", body="Mow")
    matcher = SkillMatcher([one, two], settings=QUIET)
    matcher.remove(one)
    matcher.prepare()
    matcher.remove(two)
    assert matcher.rank("kitchen knives mow") == []
    matcher.add(one)
    assert matcher.rank("kitchen knives")[0].skill is one


async def test_threads_can_ask_while_the_library_changes(everyday):
    import asyncio

    matcher = SkillMatcher(everyday, settings=QUIET)

    def churn():
        for _ in range(10):
            matcher.remove(everyday[0])
            matcher.add(everyday[0])

    asked = [asyncio.to_thread(matcher.match, "slow database queries") for _ in range(10)]
    answers = await asyncio.gather(asyncio.to_thread(churn), *asked)
    assert all(answer[0].skill.name == "sql-tuning" for answer in answers[1:])
