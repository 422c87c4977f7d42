"""A sentence becomes a check only where it has the documented form."""

import pytest

from skillkit.evaluation.cases import CheckKind
from skillkit.evaluation.formats.assertions import check_of_statement


@pytest.mark.parametrize(
    ("sentence", "kind", "values"),
    [
        ('The output contains "foo" and "bar"', CheckKind.CONTAINS, ("foo", "bar")),
        ("Mentions `--dry-run`", CheckKind.CONTAINS, ("--dry-run",)),
        ("Includes “a”, “b or c”, and “d”.", CheckKind.CONTAINS, ("a", "b or c", "d")),
        ('Response does not mention "blockchain"', CheckKind.EXCLUDES, ("blockchain",)),
        ('Uses "a" instead of "b"', CheckKind.STATEMENT, ()),
        ('Mentions nothing about "x"', CheckKind.STATEMENT, ()),
        ('Includes "use client" when the component has state', CheckKind.STATEMENT, ()),
        ("Creates a file named report.csv", CheckKind.STATEMENT, ()),
    ],
)
def test_sentences(sentence, kind, values):
    check = check_of_statement(sentence)
    assert (check.kind, check.values, check.compiled) == (kind, values, kind is not CheckKind.STATEMENT)
    assert check.text == sentence
    assert not check.any_of


def test_alternatives():
    assert check_of_statement('The answer contains "a" or "b".').any_of
    assert not check_of_statement('The answer does not contain "a" or "b".').any_of
