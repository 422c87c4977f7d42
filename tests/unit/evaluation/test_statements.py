"""A sentence becomes a check only where its words leave no doubt."""

import pytest

from skillkit.evaluation.cases import CheckKind
from skillkit.evaluation.statements import check_of_statement


@pytest.mark.parametrize(
    ("sentence", "kind", "values"),
    [
        ('The output contains "foo" and "bar"', CheckKind.CONTAINS, ("foo", "bar")),
        ("Mentions `--dry-run`", CheckKind.CONTAINS, ("--dry-run",)),
        ('The output uses model "voice-1".', CheckKind.CONTAINS, ("voice-1",)),
        ('Response does not mention "blockchain"', CheckKind.EXCLUDES, ("blockchain",)),
        ("Doesn't say 'sorry'", CheckKind.EXCLUDES, ("sorry",)),
        (r"Output matches the regex `^\d+$`", CheckKind.MATCHES, (r"^\d+$",)),
        ('Uses "a" instead of "b"', CheckKind.STATEMENT, ()),
        ('Mentions nothing about "x"', CheckKind.STATEMENT, ()),
        ('Includes "use client" when the component has state', CheckKind.STATEMENT, ()),
        ("Names the best month", CheckKind.STATEMENT, ()),
    ],
)
def test_sentences(sentence, kind, values):
    check = check_of_statement(sentence)
    assert (check.kind, check.values, check.compiled) == (kind, values, kind is not CheckKind.STATEMENT)
    assert check.text == sentence


def test_alternatives_files_and_json():
    assert check_of_statement('The answer contains "a" or "b".').any_of
    assert check_of_statement("Creates a file named report.csv").path == "report.csv"
    assert check_of_statement("`out.json` exists").path == "out.json"
    assert check_of_statement("The output is valid JSON").data == {}
    assert check_of_statement("The JSON has the keys `a`, `b`").data == {
        "type": "object",
        "required": ["a", "b"],
    }
