"""Where a match begins: by the request's length and words, and by the size of the library."""

import pytest

from skillkit.matching.calibration import CALIBRATIONS
from skillkit.matching.request import Request
from skillkit.matching.usual import LEAST, MIDDLING, typicality

BY_DEFAULT = CALIBRATIONS["lexical", "body"]


def typical(request):
    return typicality(Request.parse(request).words)


def test_a_request_in_the_words_of_skills_meets_a_lower_line():
    assert typical("refactor the API of this repository") > MIDDLING > typical("a poem about my old house")
    assert BY_DEFAULT.line(8, 10, typical("refactor the API of this repository")) < BY_DEFAULT.line(8, 10)


@pytest.mark.parametrize("request_", ["workflow", "", "2+2"])
def test_one_word_says_nothing_of_a_request(request_):
    assert typical(request_) == MIDDLING


def test_what_no_public_skill_is_about_raises_the_line_a_little_only():
    assert typical("what is the weather in Paris") == LEAST
    assert BY_DEFAULT.line(8, 10, LEAST) - BY_DEFAULT.line(8, 10) == pytest.approx(0.1)


def test_the_line_rises_with_the_library_until_it_is_large():
    small, middling, large = (BY_DEFAULT.line(8, skills) for skills in (3, 300, 3_000))
    assert small < middling < large
    assert BY_DEFAULT.line(8, 20_000) == large
    assert BY_DEFAULT.line(8, 1) == small
