"""Which words of a request say what is asked."""

import pytest

from skillkit.matching import SkillMatcher
from skillkit.matching.request import LEAD, Request

CODE = "def cut(clip):\n    return video.subtitles(clip, join=True, format='mp4')\n"
FILLING = "The quarterly figures of the northern branch were better than those of the southern one. " * 12


def test_a_fenced_block_is_material_and_not_the_request(everyday):
    matcher = SkillMatcher(everyday, mode="lexical")
    request = f"Find out why this database query is slow and propose an index:\n```python\n{CODE * 5}```\n"
    assert [match.skill.name for match in matcher.match(request)] == ["sql-tuning"]
    assert not {"subtitl", "clip", "video"} & set(Request.parse(request).words)


def test_a_request_that_is_nothing_but_a_block_is_read():
    assert "clip" in Request.parse(f"This:\n```\n{CODE}```").words
    assert "clip" in Request.parse(f"~~~\n{CODE}").words


def test_a_block_without_end_goes_to_the_end_and_a_longer_fence_holds_a_shorter_one():
    opened = "Explain the merge conflicts in this file to me please:\n````\n```\nalpha\n```\nbeta\n"
    assert {"alpha", "beta"}.isdisjoint(Request.parse(opened).words)
    assert "gamma" in Request.parse(f"{opened}````\ngamma\n").words


def test_words_between_the_ends_of_a_long_request_count_less():
    material = f"{FILLING} giraffe {FILLING} zebra {FILLING} {FILLING}"
    parsed = Request.parse(f"Rewrite the git history. {material} Then compress the pictures.")
    assert not {"git", "pictur", "rewrit"} & set(parsed.emphasis)
    assert 0 < parsed.emphasis["zebra"] < parsed.emphasis["giraff"] < 1
    assert Request.parse("word " * 2 * LEAD).emphasis == {}


def test_what_is_asked_wins_over_what_is_pasted_in_the_middle(everyday):
    pasted = "The video clips were joined, the subtitles were cut and their format was changed. " * 12
    matcher = SkillMatcher(everyday, mode="lexical")
    report = "in the minutes of the meeting that follow below. We met on Tuesday. " * 4
    request = f"Find slow database queries and propose indexes {report} {pasted} {report}"
    assert matcher.rank(request, 1)[0].skill.name == "sql-tuning"


@pytest.mark.parametrize("text", ["hi", "Hello!", "hey there", "Hello, who are you?", " HI ,\n"])
def test_a_salutation_is_not_what_is_asked(text):
    assert Request.parse(text).words == {}


@pytest.mark.parametrize("text", ["hello world in C", "say hello to Bo", "hello-extended: Bo", "Hi, resize"])
def test_only_a_salutation_at_the_beginning_is_left_out(text):
    assert Request.parse(text).words
