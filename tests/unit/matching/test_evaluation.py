"""Authors learn from known answers which of their descriptions to mend."""

import json

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.matching import EvaluationCase, MatchingSettings, SkillMatcher, evaluate, read_cases


@pytest.fixture
def matcher(everyday):
    return SkillMatcher(everyday, mode="lexical", settings=MatchingSettings())


def test_shares_and_confusions(matcher):
    result = evaluate(
        matcher,
        [
            EvaluationCase("get the tables out of a scanned PDF", ("pdf-extractor",)),
            EvaluationCase("add subtitles to my video clip", ("lib/Movie_Cutter",)),
            EvaluationCase("resize, crop and compress pictures in git", ("git-history",)),
            EvaluationCase("customers", ("invoice-writer",)),
            EvaluationCase("sing a song", ("git-history",)),
            EvaluationCase("Who wrote Hamlet?"),
            EvaluationCase("crop and compress pictures for the web"),
            EvaluationCase("slow database queries and indexes", forbidden=("sql-tuning",)),
            EvaluationCase("slow database queries and indexes", forbidden=("image",)),
        ],
    )
    assert result.cases == 9
    assert result.recall_at_1 == pytest.approx(3 / 5)
    assert result.recall_at_3 == pytest.approx(4 / 5)
    assert result.mrr == pytest.approx(3.5 / 5)
    assert result.matched == pytest.approx(2 / 5)
    assert result.false_positives == pytest.approx(2 / 4)
    assert [(one.problem, one.expected, one.found[:1]) for one in result.confusions] == [
        ("outranked", ("git-history",), ("image",)),
        ("below-threshold", ("invoice-writer",), ("invoice-writer",)),
        ("missed", ("git-history",), ()),
        ("unneeded", (), ("image",)),
        ("forbidden", (), ("sql-tuning",)),
    ]
    assert json.loads(json.dumps(result.as_dict()))["confusions"][0]["problem"] == "outranked"


def test_nothing_asked_says_nothing(matcher):
    result = evaluate(matcher, [])
    assert (result.cases, result.recall_at_1, result.mrr, result.false_positives) == (0, None, None, None)


def test_the_convention_for_one_skill(tmp_path):
    file = tmp_path / "evals.json"
    file.write_text('\ufeff[{"query": "a", "should_trigger": true}, {"query": "b", "should_trigger": false}]')
    assert read_cases(file, "image") == [
        EvaluationCase("a", ("image",)),
        EvaluationCase("b", (), ("image",)),
    ]


def test_our_own_lines(tmp_path):
    file = tmp_path / "queries.jsonl"
    file.write_text(
        '{"query": "a", "relevant": ["x/image"], "negative_for": [], "kind": "positive"}\n\n{"query": "b"}\n'
    )
    assert read_cases(file) == [EvaluationCase("a", ("x/image",)), EvaluationCase("b")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{", "Cannot read"),
        ('{"no": "query"}', 'Case 1 of .* has no "query"'),
        ("[5]", 'Case 1 of .* has no "query"'),
        ('[{"query": "a", "should_trigger": true}]', "say which skill"),
        ('{"query": "a", "relevant": "image"}', "not a list of names"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path, content, message):
    file = tmp_path / "cases"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        read_cases(file)


def test_an_answer_that_is_not_true_or_false_is_refused(tmp_path):
    file = tmp_path / "cases"
    file.write_text('[{"query": "a", "should_trigger": "yes"}]')
    with pytest.raises(ConfigurationError, match="not true or false"):
        read_cases(file, "image")


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ConfigurationError, match="nowhere"):
        read_cases(tmp_path / "nowhere")
