"""Requests and skills that nobody honest writes must cost little and change nothing for the others."""

from pathlib import Path

import pytest

from skillkit.core.models import SkillMetadata, SourceType, Triggers
from skillkit.matching import MatchingSettings, SkillMatcher

QUIET = MatchingSettings()


def skill(name, description="Does something", **triggers):
    path = Path("/skills") / name / "SKILL.md"
    return SkillMetadata(name, description, path, source=SourceType.CUSTOM, triggers=Triggers(**triggers))


HONEST = skill("pdf-extractor", "Extract text and tables from scanned PDF files")
REQUEST = "extract the tables from a scanned PDF"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*a){30}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_made_to_hang_costs_nothing(pattern):
    """With `re` the first of these alone would outlast the universe; here it answers at all."""
    matcher = SkillMatcher([skill("evil", patterns=(pattern,)), HONEST], mode="lexical", settings=QUIET)
    matcher.match("a" * 16_000 + "!")
    assert matcher.match(REQUEST)[0].skill is HONEST


def test_a_pattern_made_to_fill_the_memory_is_refused():
    matcher = SkillMatcher(
        [skill("evil", patterns=("((a{100}){100}){100}",))], mode="keyword", settings=QUIET
    )
    assert [found.code for found in matcher.diagnostics] == ["bad-pattern"]


@pytest.mark.parametrize(
    "request_",
    [
        "x" * 1_000_000,
        "extract " * 125_000,
        " ".join(f"word{number}" for number in range(120_000)),
        "\0" * 1_000_000,
        "/" * 1_000_000,
        "$a" * 500_000,
        "'" * 1_000_000,
        "\ud800 \udfff" * 100_000,
        "漢" * 1_000_000,
        "e\u0301" * 500_000,
        "\U0001f600" * 300_000,
        "a-" * 500_000,
        "no" + " " * 1_000_000 + "x",
        "without " * 125_000,
    ],
    ids=lambda text: repr(text[:6]),
)
@pytest.mark.parametrize("mode", ["keyword", "lexical", "hybrid"])
def test_a_request_of_a_megabyte_is_answered(request_, mode):
    matcher = SkillMatcher(
        [HONEST, skill("evil", keywords=("x", "漢", "'"), patterns=("a+$",))],
        mode=mode,
        body=lambda _: "",
        settings=QUIET,
    )
    for match in matcher.explain(request_).matches:
        assert 0 <= match.score <= 1
        assert all(len(reason) < 1_000 for reason in match.reasons)


def test_a_request_is_found_at_its_beginning_and_end():
    matcher = SkillMatcher([HONEST], mode="lexical", settings=QUIET)
    filler = "\n" * 500_000
    assert matcher.match(f"/pdf-extractor {filler}")
    assert matcher.match(f"{filler} /pdf-extractor")


@pytest.mark.parametrize(
    "description",
    [
        "(" * 60_000,
        "for " * 15_000,
        '"' * 60_000,
        "not for " * 8_000,
        "a. " * 20_000,
        "\ud800",
        "see see see " * 5_000,
        "'a" * 30_000,
        "-not  " * 10_000,
    ],
    ids=lambda text: repr(text[:6]),
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_an_odd_description_harms_no_other_skill(description, mode):
    matcher = SkillMatcher(
        [skill("evil", description), HONEST], mode=mode, body=lambda _: description, settings=QUIET
    )
    assert matcher.match(REQUEST)[0].skill is HONEST


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_skill_with_every_common_word_comes_only_by_what_it_declares(mode):
    text = "the a of to and or what who how " * 50 + "write code make help best question answer " * 50
    matcher = SkillMatcher([skill("greedy", text), HONEST], mode=mode, body=lambda _: "", settings=QUIET)
    assert matcher.match(REQUEST)[0].skill is HONEST
    assert matcher.match("What is the capital of France?") == []
    assert matcher.match("Make me laugh with a story about two penguins") == []
    greedy = skill("greedy", text, keywords=("the", "a", "is", "what"))
    found = SkillMatcher([greedy, HONEST], mode="lexical", body=lambda _: "", settings=QUIET).match(REQUEST)
    assert HONEST in [match.skill for match in found]


def test_ten_thousand_skills_are_searched_and_bounded():
    library = [
        skill(
            f"skill-{number}", f"Handles topic{number} for team{number % 100}. " + "Shared boilerplate. " * 5
        )
        for number in range(10_000)
    ]
    matcher = SkillMatcher([*library, HONEST], mode="lexical", settings=QUIET)
    assert matcher.rank("please handle topic7777 for team77")[0].skill.name == "skill-7777"
    assert matcher.match(REQUEST)[0].skill is HONEST
    assert len(matcher.match("/skill-1 /skill-2 /skill-3 /skill-4")) == 3
    assert len(matcher.rank("shared boilerplate", limit=5)) == 5
