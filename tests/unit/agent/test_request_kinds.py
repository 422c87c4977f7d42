"""What kind of request one is, learned from lines of a file."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import pytest

from skillkit.agent.models import request_kinds
from skillkit.agent.models.request_kinds import RequestKinds, kind_of, other_words, read_lines
from skillkit.core.models import SkillMetadata, Triggers

KITES = SkillMetadata(
    "kite-shop",
    "Kites and their strings.",
    Path("kite-shop/SKILL.md"),
    triggers=Triggers(keywords=("kite", "good wind"), verbs=("fly",), patterns=(r"\bstrings?\b",)),
)
LINES = list(
    read_lines(resources.files(request_kinds.__package__).joinpath("request_kinds.txt").read_text("utf-8"))
)


@pytest.mark.parametrize(
    ("request_text", "kind"),
    [
        ("which skills have you got there?", "list"),
        ("waht can you do for people like me?", "list"),
        ("any idea what SKILL might be for?", "describe"),
        ("which scripts are in SKILL?", "scripts"),
        ("please fly a kite for Ann", "use"),
        ("what is the capital of Peru?", "plain"),
        ("write a skill that folds kites", "author"),
        ("Dance with me", None),
    ],
)
def test_a_request_is_of_the_kind_whose_words_it_has(request_text: str, kind: str | None) -> None:
    assert kind_of(request_text, [KITES]) == kind


@pytest.mark.parametrize(
    ("request_text", "skills", "words"),
    [
        ("Is there a good wind?", [KITES], ["is", "there", "a", "USE", "?"]),
        ("Is there a good wind?", [], ["is", "there", "a", "good", "wind", "?"]),
        ("Two kites and a string for Ann", [KITES], ["two", "USE", "and", "a", "USE", "for", "NAME"]),
        ("I'd say 'fly' means AB-12", [KITES], ["i'd", "say", "QUOTED", "means", "ID"]),
    ],
)
def test_words_of_a_skill_and_names_are_the_same_whatever_they_are(
    request_text: str, skills: Sequence[SkillMetadata], words: list[str]
) -> None:
    assert request_kinds._words(request_text, request_kinds._use_of(skills)) == words


def test_what_else_is_spoken_of_are_ordinary_words_that_no_such_request_has() -> None:
    assert other_words("what is SKILL for dinner, and xyzzy?", "describe") == ["dinner"]
    assert other_words("what can you do with a kite?", "list", [KITES]) == []


def test_a_kind_is_learned_from_few_lines() -> None:
    kinds = RequestKinds.learn(
        read_lines("[up]\nlift it\nraise it\n\n[down]\n# a remark\nlower it\ndrop it\n")
    )
    scores = kinds.scores(["please", "raise", "it"])
    assert scores["up"] > scores["down"]


def test_the_file_holds_each_request_once_and_no_kind_that_is_empty() -> None:
    requests = [request for _, request in LINES]
    assert len(set(requests)) == len(requests)
    assert {kind for kind, _ in LINES} == {"list", "describe", "scripts", "author", "use", "plain", "cannot"}


@pytest.mark.parametrize("kind", ["list", "describe"])
def test_lines_are_recognised_without_themselves(kind: str) -> None:
    """Each tenth line is left out in turn, so that the file does not only know its own lines."""
    right = total = 0
    for part in range(10):
        kinds = RequestKinds.learn(line for place, line in enumerate(LINES) if place % 10 != part)
        for place, (of_kind, request) in enumerate(LINES):
            if place % 10 == part and of_kind == kind:
                scores = kinds.scores(request_kinds._words(request))
                right += max(scores, key=lambda each: scores[each]) == kind
                total += 1
    assert right / total > 0.85
