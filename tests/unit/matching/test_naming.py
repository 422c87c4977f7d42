"""A skill that is called for by name comes first."""

import pytest

from skillkit.matching import MatchingSettings, SkillMatcher

QUIET = MatchingSettings()


def matcher_of(*skills):
    return SkillMatcher(skills, mode="lexical", settings=QUIET)


def names(matches):
    return [match.skill.name for match in matches]


@pytest.mark.parametrize(
    "request_",
    [
        "/git-history please",
        "$git-history",
        "use git-history on it",
        "git_history",
        "what does the git history skill do?",
        "run `GIT-HISTORY` then extract text and tables from PDF files",
    ],
)
def test_the_named_skill_comes_first(everyday, request_):
    first = matcher_of(*everyday).match(request_)[0]
    assert first.skill.name == "git-history"
    assert first.reasons[0] == "is named in the request"
    assert first.score >= 0.95


@pytest.mark.parametrize(
    "request_",
    [
        "/image",
        "$image",
        "`image`",
        "use image",
        "the image skill",
        "do it with the skill image",
        "Image!",
    ],
)
def test_a_name_that_is_an_ordinary_word_counts_where_it_is_plainly_a_name(everyday, request_):
    assert names(matcher_of(*everyday).match(request_))[:1] == ["image"]


@pytest.mark.parametrize(
    "request_",
    [
        "What an image of the past!",
        "the /image/path folder",
        "imagery",
        "merge git branches and image tags",
        "see skills/git-history/SKILL.md",
        "our git history is a mess",
        "what sql tuning did to us",
        "image: explain git branches and merge conflicts",
        "do not mention git-history",
    ],
)
def test_an_ordinary_word_in_prose_is_no_name(everyday, request_):
    ranked = matcher_of(*everyday).rank(request_)
    assert all("is named in the request" not in match.reasons for match in ranked)


def test_a_name_in_prose_gives_way_to_what_fits_better(everyday):
    ranked = matcher_of(*everyday).rank("extract text and tables from a PDF with an image in it")
    assert names(ranked)[:2] == ["pdf-extractor", "image"]


def test_a_skill_that_is_called_like_a_function_word_does_not_come_with_every_request(make_skill):
    matcher = matcher_of(make_skill("the", "Polish brass"), make_skill("you", "Polish glass"))
    assert matcher.match("What is the capital of France, do you know?") == []
    assert names(matcher.match("use the skill “the”"))[:1] == ["the"]


@pytest.mark.parametrize("request_", ["yes", "why?", "yes, do that", "Yes: go on", "Why, is it late?"])
def test_a_function_word_alone_or_at_the_beginning_calls_for_no_skill(make_skill, request_):
    matcher = matcher_of(make_skill("yes", "Polish brass"), make_skill("why", "Polish glass"))
    assert matcher.match(request_) == []
    assert names(matcher.match("/yes")) == ["yes"]


def test_an_ordinary_word_does_not_bring_a_skill_that_is_hidden_from_the_model(make_skill):
    hidden = make_skill("image", "Resize pictures", disable_model_invocation=True)
    assert matcher_of(hidden).match("let image look at the login bug") == []
    assert names(matcher_of(hidden).match("use image")) == ["image"]


@pytest.mark.parametrize(
    "request_", ["my-git-history", "git-history-old", "gitt-history", "/git-historyx", "xgit-history"]
)
def test_a_part_of_another_word_is_no_name(everyday, request_):
    ranked = matcher_of(*everyday).rank(request_)
    assert all("is named in the request" not in match.reasons for match in ranked)


def test_the_longer_name_wins_over_the_one_inside_it(make_skill):
    matcher = matcher_of(make_skill("doca"), make_skill("doca-flow"))

    def named(request):
        return {match.skill.name for match in matcher.rank(request) if match.score >= 0.95}

    assert named("use doca flow") == {"doca-flow"}
    assert named("use doca and the doca-flow skill") == {"doca", "doca-flow"}


def test_the_source_before_the_colon_is_understood(make_skill):
    one = make_skill("deploy", source_label="plug")
    two = make_skill("deploy", source_label="user")
    assert matcher_of(one, two).match("/user:deploy")[0].skill is two


def test_a_skill_that_people_may_not_call_is_not_called(make_skill):
    hidden = make_skill("secret-thing", "Polish brass", user_invocable=False)
    assert all("is named" not in match.reasons[0] for match in matcher_of(hidden).rank("/secret-thing"))
    assert names(matcher_of(hidden).match("polish brass")) == ["secret-thing"]


def test_several_names_are_all_found_and_removed_ones_are_not(everyday):
    matcher = matcher_of(*everyday)
    assert set(names(matcher.match("/git-history and /sql-tuning"))) == {"git-history", "sql-tuning"}
    matcher.remove(everyday[2])
    assert names(matcher.match("/git-history and /sql-tuning")) == ["sql-tuning"]
