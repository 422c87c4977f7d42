"""A description says what a skill is for, what it is not for, and what people say."""

import pytest

from skillkit.matching.description import MOST_EXCLUSIONS, MOST_PHRASES, Description, exclusions_of_body


@pytest.mark.parametrize(
    "sentence",
    [
        "For video clips, see movie-cutter.",
        "For audits use seo-audit instead.",
        "Do not use for spreadsheets.",
        "Don't use it when the file is empty.",
        "NOT for generic boosting (use /other).",
        "Never use for production data.",
        "Avoid for small jobs.",
    ],
)
def test_a_sentence_that_sends_the_reader_away_is_not_the_purpose(sentence):
    parsed = Description.parse(f"Crops pictures. {sentence} Works offline.")
    assert parsed.purpose == "Crops pictures. Works offline."
    assert parsed.exclusions == (sentence,)


@pytest.mark.parametrize(
    "sentence",
    ["Use for PDF files.", "For any report use this skill.", "Trigger even when the user does not say so."],
)
def test_a_sentence_that_invites_is_the_purpose(sentence):
    assert Description.parse(sentence) == Description(sentence, (), ())


def test_the_end_of_a_sentence_can_send_away_too():
    parsed = Description.parse("Draws charts, not for maps. Exports SVG.")
    assert "maps" not in parsed.purpose
    assert "maps" in parsed.exclusions[0]
    assert "Exports SVG." in parsed.purpose


def test_quoted_phrases_are_found_in_every_kind_of_quotes():
    text = "Use when the user says \"split test,\" 'which is better' or “test this”, but it's not don't."
    assert Description.parse(text).phrases == ("split test", "which is better", "test this")


def test_the_number_of_phrases_is_bounded():
    text = " ".join(f'"phrase {number}"' for number in range(500))
    assert len(Description.parse(text).phrases) == MOST_PHRASES


def test_instructions_say_when_the_skill_is_not_to_be_used():
    body = """# Charts
Do not use red. Never draw pies.
Do not use this skill for maps. For tables, use `table-writer` instead.
## When not to use
- Geographic data
- Tables of numbers

## Steps
Draw it. Do not use it for maps without asking.
"""
    assert exclusions_of_body(body) == [
        "Do not use this skill for maps.",
        "For tables, use `table-writer` instead.",
        "- Geographic data",
        "- Tables of numbers",
        "Do not use it for maps without asking.",
    ]
    assert len(exclusions_of_body("Not for maps.\n" * 500)) == MOST_EXCLUSIONS
