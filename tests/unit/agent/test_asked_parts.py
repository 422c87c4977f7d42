"""What a request asks for is told from what it quotes, tells first, or brings along."""

from pathlib import Path

import pytest

from skillkit.agent.models.asked_parts import asking_part, is_self_contained, needs_no_tool, without_quoted
from skillkit.core.models import SkillMetadata, Triggers

LIBRARY = SkillMetadata(
    "library-desk",
    "Books and loans of the town library.",
    Path("library-desk/SKILL.md"),
    triggers=Triggers(keywords=("borrow", "library"), patterns=(r"\bwho wrote\b",)),
)
UNDECLARED = SkillMetadata("pdf-forms", "Fills in PDF forms.", Path("pdf-forms/SKILL.md"))


@pytest.mark.parametrize(
    ("request_text", "asked"),
    [
        (
            "I have to borrow a tent. How do I pitch one in rain?",
            "I have to borrow a tent. How do I pitch one in rain?",
        ),
        ("I could not borrow a tent. How do people sleep in rain?", "How do people sleep in rain?"),
        ("I like bees. Any book on them?", "I like bees. Any book on them?"),
        ("Which one is it? Who wrote Dune, I mean?", "Which one is it? Who wrote Dune, I mean?"),
        ("who wrote Dune", "who wrote Dune"),
    ],
)
def test_a_question_that_stands_alone_is_what_is_asked(request_text: str, asked: str) -> None:
    assert asking_part(request_text) == asked


def test_what_is_quoted_is_not_asked_for() -> None:
    assert without_quoted("what does 'who wrote' mean, and \"library\"?").split() == [
        "what", "does", "mean,", "and", "?"
    ]  # fmt: skip
    assert without_quoted("the author's book, please") == "the author's book, please"


@pytest.mark.parametrize(
    ("request_text", "contained"),
    [
        ("translate 'borrow a book' into Dutch", True),
        ("Shorten this text: who wrote this long library rule", True),
        ("Please borrow the following books: Dune, Emma", False),
        ("My library is closed today. How do volcanoes erupt?", True),
        ("Who wrote Dune?", False),
        ("Why do people borrow tents?", True),
        ("translate borrow into Dutch", True),
        ("How does a library work?", True),
        ("What is a public library, in general? Two sentences please.", True),
        ("Explain BK-1234-A of the library", False),
        ("Summarize: who wrote it is not known.", True),
        ("I owe the library. Should I pay today or tomorrow?", True),
    ],
)
def test_a_request_that_has_all_it_needs_is_for_no_skill(request_text: str, contained: bool) -> None:
    assert is_self_contained(request_text, [LIBRARY]) is contained


def test_a_skill_that_explains_or_fills_in_is_for_such_requests() -> None:
    translator = SkillMetadata("translator", "Translates letters.", Path("translator/SKILL.md"))
    assert not is_self_contained("translate 'letter.txt' into Dutch", [translator])
    assert not is_self_contained("I have a.pdf. How do I fill the form?", [UNDECLARED])


@pytest.mark.parametrize(
    ("request_text", "skills", "needless"),
    [
        ("How many people live in Oslo?", [LIBRARY], True),
        ("Who wrote Dune?", [LIBRARY], False),
        ("What are my loans?", [LIBRARY], False),
        ("How many people live in Oslo?", [LIBRARY, UNDECLARED], True),
        ("How do I fill in a form?", [LIBRARY, UNDECLARED], False),
        ("I am 34, how old is that in months?", [LIBRARY], True),
        ("How many people live in Oslo?", [], False),
        ("Show me the books of Le Guin", [LIBRARY], False),
    ],
)
def test_a_question_is_for_no_skill_that_would_have_declared_it(
    request_text: str, skills: list[SkillMetadata], needless: bool
) -> None:
    assert needs_no_tool(request_text, skills, ["loans", "find_book"]) is needless
