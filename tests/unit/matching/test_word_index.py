"""An index of words that texts come to and go from says what one made of the same texts says."""

from collections.abc import Iterable

import pytest

from skillkit.matching.calibration import LEXICAL
from skillkit.matching.request import Request
from skillkit.matching.word_index import COMMON, WordIndex

REQUEST = Request.parse("deploy terraform modules")


def index_of(texts: dict[int, dict[str, float]]) -> WordIndex:
    index = WordIndex(LEXICAL.words)
    for key, counts in texts.items():
        index.add(key, counts)
    return index


def worth(index: WordIndex, texts: Iterable[int]) -> dict[int, float]:
    """What the request is worth in every text, by common terms and by the others."""
    keys = frozenset(texts)
    weighed = index.telling(REQUEST)
    total = [0.0] * (max(keys) + 1)
    index.add_scores(weighed, total, 1.0)
    found = {key: total[key] for key in keys}
    index.add_common(weighed, found, 1.0)
    return found


def said(index: WordIndex, texts: Iterable[int]) -> object:
    keys = frozenset(texts)
    return (
        dict(index.telling(REQUEST)),
        {term: index.having(term, keys) for term in REQUEST.words},
        {key: round(value, 9) for key, value in worth(index, keys).items()},
    )


def library(size: int) -> dict[int, dict[str, float]]:
    """Every text has a common term, every third a second one, and one a third."""
    deploy, terraform, module = REQUEST.words
    found: dict[int, dict[str, float]] = {}
    for key in range(size):
        found[key] = {deploy: 1.0 + key % 5}
        if key % 3 == 0:
            found[key][terraform] = 2.0
    found[size // 2][module] = 1.0
    return found


@pytest.mark.parametrize("asked_between", [False, True], ids=["asked-once", "asked-after-every-change"])
def test_an_index_grown_past_common_terms_says_what_a_new_one_says(asked_between: bool) -> None:
    texts = library(COMMON + 40)
    index = WordIndex(LEXICAL.words)
    for key, counts in texts.items():
        index.add(key, counts)
        if asked_between:
            index.telling(REQUEST)
    assert said(index, texts) == said(index_of(texts), texts)


@pytest.mark.parametrize("left", [COMMON + 10, COMMON - 10], ids=["still-common", "common-no-more"])
def test_texts_that_leave_a_common_term_are_not_found_by_it(left: int) -> None:
    texts = library(COMMON + 40)
    index = index_of(texts)
    said(index, texts)
    for key in range(left, COMMON + 40):
        index.remove(key)
        del texts[key]
    assert said(index, texts) == said(index_of(texts), texts)
    term = next(iter(REQUEST.words))
    assert not index.having(term, frozenset(range(left, COMMON + 40)))


def test_a_number_that_is_given_again_has_the_words_of_its_new_text() -> None:
    texts = library(COMMON + 40)
    index = index_of(texts)
    said(index, texts)
    deploy, terraform, module = REQUEST.words
    for key, counts in ((3, {module: 2.0}), (4, {terraform: 5.0, deploy: 1.0}), (7, {})):
        index.remove(key)
        texts[key] = counts
        index.add(key, counts)
    assert said(index, texts) == said(index_of(texts), texts)
    assert index.having(deploy, frozenset({3, 4, 7})) == {4}


def test_settling_before_a_request_changes_nothing() -> None:
    texts = library(COMMON + 40)
    index = index_of(texts)
    index.settle()
    assert said(index, texts) == said(index_of(texts), texts)
