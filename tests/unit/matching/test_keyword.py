"""A declared trigger always counts: whole words by their stems, any case, any script."""

import pytest

from skillkit.matching import MatchingSettings, SkillMatcher

QUIET = MatchingSettings()


def matched(skill, request):
    matcher = SkillMatcher([skill], mode="keyword", settings=QUIET)
    return bool(matcher.match(request))


@pytest.mark.parametrize(
    ("keyword", "request_", "expected"),
    [
        ("cat", "Feed the CAT now", True),
        ("cat", "concatenate the files", False),
        ("cat", "many cats", True),
        ("pdf", "merge these PDFs", True),
        ("greet", "greetings to all", True),
        ("hello", "xhellox", False),
        ("cat", "cat", True),
        ("split test", "run a Split   Test today", True),
        ("split test", "split the tests", False),
        ("split test", "split tests", True),
        ("c++", "I write C++ code", True),
        ("c++", "I write C code", False),
        (".pdf", "open report.pdf", True),
        ("node.js", "a Node.js server", True),
        ("what's", "WHAT'S new", True),
        ("café", "a CAFE\u0301 in Paris", True),
        ("straße", "in der STRASSE", True),
        ("発表", "明日の発表資料", True),
        ("数据分析", "请做数据分析。", True),
        ("हिन्द", "हिन्दी में", False),
        ("हिन्दी", "हिन्दी में", True),
        ("$100", "costs $100", True),
        ("foo_bar", "foo_bar", True),
        ("to do", "add milk to my to do list", True),
        ("what?!", "what is it", True),
        ("don't", "don’t do it", True),
        ("", "anything", False),
        ("   ", "anything", False),
    ],
)
def test_a_keyword_matches_whole_words_by_their_stems(make_skill, keyword, request_, expected):
    assert matched(make_skill("one", keywords=(keyword,)), request_) is expected


def test_a_verb_alone_is_enough_and_more_triggers_score_higher(make_skill):
    greet = make_skill("greet-people", verbs=("greet",), keywords=("bonjour", "hello"))
    matcher = SkillMatcher([greet], mode="keyword", settings=QUIET)
    scores = [
        matcher.match(request)[0].score for request in ("greet Alice", "say hello", "greet: hello, bonjour")
    ]
    assert scores == sorted(scores)
    assert scores[0] >= matcher.threshold
    assert scores[-1] <= 1


def test_a_skill_without_triggers_never_matches(make_skill):
    assert not matched(make_skill("one-two", "Extract text from PDF files"), "extract text from PDF files")


def test_patterns_run_without_regard_to_case(make_skill):
    skill = make_skill("tickets", patterns=(r"\bJIRA-\d+\b",))
    assert matched(skill, "look at jira-1234")
    assert not matched(skill, "look at jira-x")


@pytest.mark.parametrize("pattern", ["(", "(?=x)", r"(a)\1", "a{2,1}", "x" * 1001])
def test_a_pattern_that_cannot_run_is_a_diagnostic(make_skill, pattern):
    skill = make_skill("one", keywords=("fine",), patterns=(pattern,))
    matcher = SkillMatcher([skill], mode="keyword", settings=QUIET)
    assert [(found.code, found.path) for found in matcher.diagnostics] == [("bad-pattern", skill.skill_path)]
    assert matcher.match("fine")
    matcher.remove(skill)
    assert matcher.diagnostics == ()


def test_reasons_quote_the_triggers(make_skill):
    skill = make_skill("one", keywords=("bonjour",), patterns=("al+ice",))
    (match,) = SkillMatcher([skill], mode="keyword", settings=QUIET).match("Say bonjour to Alice")
    assert match.reasons == ("has its keyword “bonjour”", "has its pattern “al+ice”")


def test_several_triggers_of_a_kind_are_one_reason(make_skill):
    skill = make_skill("one", keywords=("market", "odds"), verbs=("bet",))
    (match,) = SkillMatcher([skill], mode="keyword", settings=QUIET).match("bet on the odds of this market")
    assert match.reasons == ("has its verb “bet”", "has its keywords “odds”, “market”")


def test_a_removed_skill_takes_its_triggers_with_it(make_skill):
    one, two = make_skill("one", keywords=("x", "日本")), make_skill("two", keywords=("x",))
    matcher = SkillMatcher([one, two], mode="keyword", settings=QUIET)
    matcher.remove(one)
    assert [match.skill.name for match in matcher.match("x 日本")] == ["two"]


@pytest.mark.parametrize("mode", ["keyword", "lexical", "hybrid"])
@pytest.mark.parametrize(
    ("triggers", "request_"),
    [
        ({"keywords": ("bonjour",)}, "Say bonjour to Alice"),
        ({"verbs": ("transcribe",)}, "he was transcribing the interview that I recorded in the park"),
        ({"verbs": ("say",)}, "say something"),
        ({"keywords": ("how to",)}, "how to swim"),
        ({"keywords": ("who am i",)}, "Who am I?"),
        ({"keywords": ("IT",)}, "the IT department"),
        ({"patterns": ("ali[sc]e",)}, "to Alice"),
    ],
)
def test_a_declared_trigger_counts_in_every_mode_and_above_every_line(
    make_skill, everyday, mode, triggers, request_
):
    skill = make_skill("declared", "Something else entirely", **triggers)
    matcher = SkillMatcher([skill, *everyday], mode=mode, settings=QUIET, threshold=0.99)
    (match,) = matcher.match(request_)
    assert match.skill is skill
    assert match.certain
    assert matcher.match("2+2") == []


def test_triggers_put_in_as_many_as_the_limit_and_scores_one(make_skill, everyday):
    declared = [make_skill(f"declared-{number}", keywords=("tables",)) for number in range(4)]
    matcher = SkillMatcher([*declared, *everyday], mode="lexical", settings=QUIET)
    request = "extract text and tables from scanned PDF files, and crop and compress pictures for the web"
    found = matcher.explain(request)
    assert len(found.matches) == 3
    by_score = [match for match in (*found.matches, *found.cut) if not match.certain]
    assert [match.skill.name for match in by_score] == ["pdf-extractor"]
