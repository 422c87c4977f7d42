"""The environment is read at one place, and a wrong value says what would be right."""

from pathlib import Path

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.matching import MatchingSettings, Mode


def test_nothing_set_leaves_the_choice_to_skillkit():
    assert MatchingSettings.from_environment({}) == MatchingSettings(None, 3, None)


def test_everything_set():
    found = MatchingSettings.from_environment(
        {
            "SKILL_MATCHING_MODE": " Hybrid ",
            "SKILL_MAX_PER_REQUEST": "5",
            "SKILL_MATCHING_THRESHOLD": "0.8",
            "XDG_CACHE_HOME": "/c",
            "HOME": "/h",
        }
    )
    assert found == MatchingSettings(Mode.HYBRID, 5, Path("/c/skillkit"), 0.8)


def test_a_relative_cache_folder_is_ignored_as_the_specification_says():
    found = MatchingSettings.from_environment({"XDG_CACHE_HOME": "cache", "HOME": "/h"})
    assert found.cache_dir == Path("/h/.cache/skillkit")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SKILL_MATCHING_MODE", "best"),
        ("SKILL_MAX_PER_REQUEST", "many"),
        ("SKILL_MAX_PER_REQUEST", "-1"),
        ("SKILL_MAX_PER_REQUEST", "inf"),
        ("SKILL_MATCHING_THRESHOLD", "high"),
        ("SKILL_MATCHING_THRESHOLD", "1.5"),
        ("SKILL_MATCHING_THRESHOLD", "nan"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_variable(name, value):
    with pytest.raises(ConfigurationError, match=name) as error:
        MatchingSettings.from_environment({name: value})
    assert error.value.parameter_name == name
