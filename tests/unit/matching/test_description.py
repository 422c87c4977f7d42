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
        "Also not for a one-line tweak.",
        "It is NOT for tactical modelling.",
        "This skill does not cover provincial law.",
        "EXCLUDE: general git operations, non-Actions CI systems.",
        "Out of scope: video clips.",
        "Client libraries and Helm are out of scope.",
        "Use orca-cli instead for handoffs.",
        "Where to spend belongs to `spend-allocation`.",
        "When NOT to use: maps.",
        "Nicht für Karten verwenden.",
        "Ne pas utiliser pour les cartes.",
        "No usar para mapas.",
        "Não use para mapas.",
    ],
)
def test_a_sentence_that_sends_the_reader_away_is_not_the_purpose(sentence):
    parsed = Description.parse(f"Crops pictures. {sentence} Works offline.")
    assert parsed.purpose == "Crops pictures. Works offline."
    assert parsed.exclusions == (sentence,)


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("Crops pictures\nDo NOT use for maps", "Do NOT use for maps"),
        ("Crops pictures:\n- photos\n- NOT for maps", "- NOT for maps"),
        ("裁剪图片。Do NOT use for maps", "Do NOT use for maps"),
        ("裁剪图片。不适用于地图。", "不适用于地图。"),
        ("画像を切り抜く。地図には使わない。", "地図には使わない。"),
    ],
)
def test_a_line_or_a_stop_of_another_script_ends_the_sentence_before(text, excluded):
    assert Description.parse(text).exclusions == (excluded,)


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
    assert exclusions_of_body(
        "# Charts\n**NOT for:** maps.\nOut of scope: tables\nSkip this skill for pies.\n"
    ) == [
        "**NOT for:** maps.",
        "Out of scope: tables",
        "Skip this skill for pies.",
    ]
    assert exclusions_of_body("**Do NOT use when:**\n\n- a map\n- a table\n\nDraw it.\n- Line\n") == [
        "**Do NOT use when:**",
        "- a map",
        "- a table",
    ]
    assert len(exclusions_of_body("Not for maps.\n" * 500)) == MOST_EXCLUSIONS
