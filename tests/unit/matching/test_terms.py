"""Words become terms the same way for skills and for requests."""

import gzip
from importlib import resources

import pytest
import snowballstemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from skillkit import SkillManager
from skillkit.matching import SkillMatcher
from skillkit.matching.porter import stem
from skillkit.matching.terms import count_terms, fold, terms, usual_terms


def test_stems_are_those_of_porter_for_every_common_english_word():
    packed = resources.files("skillkit.matching").joinpath("wordpiece.txt.gz").read_bytes()
    words = [
        word for word in gzip.decompress(packed).decode().split("\n") if word.isascii() and word.isalpha()
    ]
    reference = snowballstemmer.stemmer("porter")
    longer = [word for word in words if len(word) > 2]
    assert len(longer) > 20_000
    assert [(word, stem(word)) for word in longer] == [(word, reference.stemWord(word)) for word in longer]


@pytest.mark.parametrize("word", ["as", "is", "us", "c#", "c++", "naïve", "x2", ""])
def test_short_and_odd_words_stay_as_they_are(word):
    assert stem(word) == word


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("optimising queries", "Optimized QUERY"),
        ("the user's organisation", "organizations"),
        ("résumé", "RESUME"),
        ("Straße", "STRASSE"),
        ("ﬁle", "file"),
        ("don't extract", "extracts"),
    ],
)
def test_spellings_of_one_thing_meet(one, other):
    assert terms(one) == terms(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GPT4o", {"gpt4o"}),
        ("C++ and C#", {"c++", "c#"}),
        ("snake_case-word", {"snake", "case", "word"}),
        ("数据分析", {"数据", "据分", "分析"}),
        ("猫", {"猫"}),
        ("用Python分析", {"用", "python", "分析"}),
        ("漢字" * 60, {"漢字", "字漢"}),
        ("हिन्दी", {"हिन्दी"}),
    ],
)
def test_compounds_and_scripts_are_taken_apart(text, expected):
    assert set(terms(text)) == expected


def test_words_that_every_request_has_are_left_out():
    assert terms("Could you please help me with this? Which skills are there for it?") == []
    assert terms("make this skill better") == ["skill", "better"]


def test_a_word_longer_than_any_word_is_no_term():
    assert terms("x" * 65) == []


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_terms_that_are_folded(text):
    found = terms(text)
    assert all(term and not any(character.isspace() for character in term) for term in found)
    assert terms(text) == found


@settings(deadline=None)
@given(st.text(max_size=100))
def test_folding_twice_changes_nothing_more(text):
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_small_number_alone_is_no_reason_to_match(mode, skills_dir, write_skill):
    for number in (1, 2, 3):
        write_skill(f"skill-{number}", description=f"Waters plant {number} with care")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    assert SkillMatcher(manager.list_skills(), mode=mode).match("What is 2+2?") == []


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("aB'’ c.漢é#+-2\n"), max_size=60))
def test_counting_gives_the_terms_as_often_as_they_occur(text):
    found = terms(text)
    assert count_terms(text) == {term: found.count(term) for term in found}


def test_usual_terms_are_shares():
    for shares in (usual := usual_terms()):
        assert all(0 < share <= 1 for share in shares.values())
    assert usual.bodies["file"] > usual.descriptions["file"]
    assert set(terms("check the output of each step")) <= usual.bodies.keys()
