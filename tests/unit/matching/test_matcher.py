"""The promises of SkillMatcher: it finds, it explains, it abstains, and it follows its library."""

from dataclasses import FrozenInstanceError, replace

import pytest
from discovered import settle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillkit.core.exceptions import ConfigurationError
from skillkit.matching import MatchingSettings, Mode, SkillMatcher
from skillkit.matching.calibration import Calibration

QUIET = MatchingSettings()


def names(matches):
    return [match.skill.name for match in matches]


@pytest.fixture
def lexical(everyday):
    return SkillMatcher(everyday, mode="lexical", settings=QUIET)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("I have a scanned form as PDF, get the tables out of it", "pdf-extractor"),
        ("please send a bill to the customer", "invoice-writer"),
        ("my database query is slow, which index do I need?", "sql-tuning"),
        ("resolve these merge conflicts between two git branches", "git-history"),
        ("compress and crop pictures for my web page", "image"),
        ("add subtitles to this video clip", "movie-cutter"),
    ],
)
def test_the_right_skill_comes_first(lexical, request_, expected):
    assert names(lexical.match(request_))[:1] == [expected]


@pytest.mark.parametrize(
    "request_",
    [
        "What is 2+2?",
        "Who wrote Hamlet?",
        "Tell me a joke about penguins",
        "",
        "   ",
        "the a of",
        "\0\0",
        "🙂",
    ],
)
def test_a_request_that_needs_no_skill_gets_none(lexical, request_):
    assert lexical.match(request_) == []


def test_an_empty_library_matches_nothing():
    matcher = SkillMatcher(mode="lexical", settings=QUIET)
    assert matcher.match("extract text") == []
    assert matcher.rank("extract text") == []
    assert matcher.explain("extract text").explanation == "No skill reaches 0.50."


def test_matches_say_why_in_words_of_the_request(lexical):
    (match,) = lexical.match("get the Tables out of a scanned PDF!")
    assert match.reasons[0].startswith("shares the words ")
    assert set(match.reasons[0].removeprefix("shares the words ").split(", ")) == {"Tables", "scanned", "PDF"}
    match = lexical.rank("scanned")[0]
    assert match.reasons[0] == "shares the word scanned"
    with pytest.raises(FrozenInstanceError):
        match.score = 1.0


def test_scores_are_between_0_and_1_and_ordered(lexical):
    ranked = lexical.rank("pdf files, video clips and pictures for the web, git and queries", limit=10)
    scores = [match.score for match in ranked]
    assert len(ranked) == 5
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_rank_shows_near_misses_that_match_leaves_out(lexical):
    assert lexical.match("customers") == []
    assert names(lexical.rank("customers")) == ["invoice-writer"]
    assert names(lexical.explain("customers").near) == ["invoice-writer"]
    assert lexical.explain("customers").explanation.startswith(
        "No skill reaches 0.50; the nearest is invoice-"
    )


def test_rank_lets_no_declared_trigger_hide_a_better_skill(everyday, make_skill):
    weak = make_skill("weak", "Something", keywords=("tables",))
    matcher = SkillMatcher([weak, *everyday], mode="lexical", settings=QUIET)
    ranked = matcher.rank("extract text and tables from scanned PDF files", limit=1)
    assert names(ranked) == ["pdf-extractor"]


def test_the_limit_is_explained_when_it_cuts(lexical):
    request = "/image /git-history /sql-tuning /movie-cutter"
    result = lexical.explain(request, limit=2)
    assert len(result.matches) == 2
    assert len(result.cut) == 2
    assert result.explanation.startswith("4 skills matched; the limit of 2 left out ")
    assert "SKILL_MAX_PER_REQUEST" in result.explanation
    assert names(result.matches) == names(lexical.match(request, limit=2))
    assert len(lexical.match(request)) == 3
    assert lexical.match(request, limit=0) == []
    assert lexical.rank(request, limit=0) == []
    assert lexical.explain("/image", limit=1).explanation == "1 skill matched."
    everything = lexical.explain(" ".join(f"/{skill.name}" for skill in lexical.skills), limit=1)
    assert everything.explanation.count(" and 2 more") == 1


def test_the_threshold_can_be_set(everyday):
    eager = SkillMatcher(everyday, mode="lexical", threshold=0.0, settings=QUIET)
    strict = SkillMatcher(everyday, mode="lexical", threshold=1.0, settings=QUIET)
    assert names(eager.match("customers")) == ["invoice-writer"]
    assert strict.match("extract text and tables from scanned PDF files") == []
    assert names(strict.match("/image")) == ["image"]


def test_hidden_skills_come_only_by_name(make_skill):
    hidden = make_skill("polish-brass", "Polish brass", disable_model_invocation=True)
    matcher = SkillMatcher([hidden], mode="lexical", settings=QUIET)
    explained = matcher.explain("polish the brass candlestick")
    assert (explained.matches, "started by its name only" in explained.explanation) == ((), True)
    assert names(matcher.match("/polish-brass")) == ["polish-brass"]
    assert names(matcher.rank("polish the brass candlestick")) == ["polish-brass"]


def test_the_library_can_change_at_any_time(lexical, make_skill):
    brass = make_skill("polish-brass", "Polish brass and copper")
    lexical.add(brass)
    assert names(lexical.match("polish brass and copper")) == ["polish-brass"]
    lexical.add(replace(brass, description="Melt tin and lead"))
    assert lexical.match("polish copper pots") == []
    assert names(lexical.match("melt tin and lead")) == ["polish-brass"]
    lexical.remove(brass)
    lexical.remove(brass)
    assert lexical.match("melt tin and lead") == []
    assert len(lexical.skills) == 6


def test_update_indexes_only_what_changed(everyday, make_skill):
    read = []

    def body(skill):
        read.append(skill.name)
        return "# Instructions"

    for skill in everyday:
        settle(skill.skill_path)
    matcher = SkillMatcher(everyday, mode="lexical", body=body, settings=QUIET)
    matcher.prepare()
    assert len(read) == 6
    edited = make_skill(everyday[1].name, everyday[1].description, body="New and longer instructions")
    renewed = make_skill("polish-brass", "Polish brass")
    matcher.update([everyday[0], edited, renewed])
    matcher.prepare()
    assert read[6:] == ["invoice-writer", "polish-brass"]
    assert [skill.name for skill in matcher.skills] == ["pdf-extractor", "invoice-writer", "polish-brass"]


def test_what_matches_in_a_small_library_matches_in_a_larger_one(everyday, make_skill):
    """Sixty strangers more, and what matched matches, what did not does not."""
    strangers = [
        make_skill(f"stranger-{number}", f"Handles topic{number} for team{number}") for number in range(60)
    ]
    small = SkillMatcher(everyday, mode="lexical", settings=QUIET)
    large = SkillMatcher([*everyday, *strangers], mode="lexical", settings=QUIET)
    for request in ("get the tables out of a scanned PDF", "customers", "slow database queries"):
        one, other = small.rank(request, 1)[0], large.rank(request, 1)[0]
        assert one.skill is other.skill
        assert (one.score >= 0.5) == (other.score >= 0.5)


def test_two_skills_of_one_name_from_two_sources_live_side_by_side(make_skill):
    one = make_skill("deploy", "Deploy containers", source_label="a")
    two = make_skill("deploy", "Deploy all containers", source_label="b")
    matcher = SkillMatcher([one, two], mode="lexical", settings=QUIET)
    assert len(matcher.rank("deploy the containers")) == 2


def test_the_mode_comes_from_the_argument_then_the_settings_and_is_lexical_otherwise(everyday):
    wish = MatchingSettings(mode=Mode.KEYWORD)
    assert SkillMatcher(everyday, settings=wish).mode is Mode.KEYWORD
    assert SkillMatcher(everyday, mode=Mode.LEXICAL, settings=wish).mode is Mode.LEXICAL
    assert SkillMatcher(everyday, settings=QUIET).mode is Mode.LEXICAL
    with pytest.raises(ConfigurationError, match="keyword, lexical, semantic, hybrid"):
        SkillMatcher(everyday, mode="psychic", settings=QUIET)


def test_the_environment_decides_where_nothing_is_said(everyday, monkeypatch):
    monkeypatch.setenv("SKILL_MATCHING_MODE", "lexical")
    monkeypatch.setenv("SKILL_MAX_PER_REQUEST", "1")
    matcher = SkillMatcher(everyday)
    assert matcher.mode is Mode.LEXICAL
    assert len(matcher.match("/image and /git-history")) == 1


@settings(
    max_examples=settings.default.max_examples // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.text(max_size=400), st.sampled_from(["keyword", "lexical"]))
def test_any_request_is_answered_within_the_rules(everyday, text, mode):
    matcher = SkillMatcher(everyday, mode=mode, settings=QUIET)
    result = matcher.explain(text)
    assert len(result.matches) <= 3
    for match in (*result.matches, *result.cut, *result.near):
        assert 0 <= match.score <= 1
    assert all(match.score >= matcher.threshold for match in result.matches)


@settings(deadline=None)
@given(st.floats(-50, 50), st.floats(0.1, 10))
def test_confidence_is_one_half_at_the_line(line, slope):
    fitted = Calibration(middle=0.0, length=0.4, size=0.05, slope=slope)
    assert fitted.confidence(line, line) == 0.5
    assert fitted.confidence(line - 0.1, line) < 0.5 < fitted.confidence(line + 0.1, line)
    assert fitted.confidence(-1e9, line) >= 0
    assert fitted.confidence(1e9, line) <= 1
    assert fitted.line(3, 10) < fitted.line(30, 10) < fitted.line(30, 10_000)


def test_words_that_are_in_most_skills_say_less_in_a_library_of_two(make_skill):
    bodies = {
        "gardening": "Water the roses with a hose and prune them. " * 40,
        "reports": "Check the output, run each step, create a file and list the results. " * 40,
    }
    skills = [make_skill("gardening", "Keep plants alive."), make_skill("reports", "Quarterly figures.")]
    matcher = SkillMatcher(skills, mode="lexical", body=lambda skill: bodies[skill.name])
    usual, telling = matcher.rank("create, check, run")[0], matcher.rank("roses, hose, prune")[0]
    assert (usual.skill.name, telling.skill.name) == ("reports", "gardening")
    assert usual.score < telling.score / 2


def test_a_skill_that_answers_more_of_a_request_comes_before_one_that_repeats_a_word(make_skill):
    repeats = make_skill("charts", "Charts: bar charts, line charts and more charts.")
    answers = make_skill("sales", "Quarterly sales reports for the board.")
    bodies = {
        "charts": "Draw charts. " * 100,
        "sales": "Collect figures of each quarter and write the report with charts for the board. " * 20,
    }
    matcher = SkillMatcher([repeats, answers], mode="lexical", body=lambda skill: bodies[skill.name])
    assert names(matcher.rank("charts in the quarterly sales report for the board"))[0] == "sales"


def test_one_word_is_not_a_request_that_is_answered(lexical):
    assert lexical.rank("customers")[0].score < 0.5


def test_of_copies_under_other_names_one_matches(make_skill):
    text = "Convert invoices into spreadsheets."
    copies = [make_skill(name, text) for name in ("first", "second", "third")]
    matcher = SkillMatcher([*copies, make_skill("other", "Convert invoices to PDF.")], mode="lexical")
    names = [match.skill.name for match in matcher.match("Convert these invoices into spreadsheets")]
    assert names[0] == "first"
    assert not {"second", "third"} & set(names)
    assert len([match for match in matcher.rank("Convert invoices") if match.skill.description == text]) == 3
    assert [match.skill.name for match in matcher.match("/second these invoices")] == ["second"]
