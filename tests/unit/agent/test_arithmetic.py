"""Arithmetic in figures and words is computed; whatever else a request says is for the model."""

import pytest

from skillkit.agent.models.arithmetic import computed


@pytest.mark.parametrize(
    ("request_text", "result"),
    [
        ("What is 2+2?", "4"),
        ("whats 30% of 250", "75"),
        ("what is 90 divided by 6, then plus 4", "19"),
        ("calculate two thirds of ninety please", "60"),
        ("twenty-five times four", "100"),
        ("one hundred and five minus six", "99"),
        ("7 * (3 + 2)", "35"),
        ("Add 19 and 23", "42"),
        ("what is the sum of 2 and 3?", "5"),
        ("subtract 4 from twenty", "16"),
        ("divide 9 by 2", "4.5"),
        ("square root of 144", "12"),
        ("how much is 3.5 times 1,200?", "4200"),
        ("100 / 3", "about 33.3333"),
        ("How many minutes are in three and a half hours?", "210 minutes"),
        ("convert 5 miles to km", "about 8.0467 km"),
    ],
)
def test_arithmetic_is_computed(request_text: str, result: str) -> None:
    assert computed(request_text) == result


@pytest.mark.parametrize(
    "request_text",
    [
        "",
        "hi",
        "what is twelve",
        "2026-11-17",
        "555-1234",
        "what is 1/0",
        "What is 5 plus the number of planets?",
        "What is one of the reasons?",
        "how many people are in 2 teams",
        "convert 5 miles to kilograms",
        "9 ^ 9 ^ 9 ^ 9",
    ],
)
def test_anything_else_is_not(request_text: str) -> None:
    assert computed(request_text) is None
