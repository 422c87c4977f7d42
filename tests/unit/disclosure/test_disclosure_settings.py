"""The environment is read at the edge, and what it cannot mean is refused."""

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.disclosure import DisclosureSettings, FallbackMode


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, DisclosureSettings(3, FallbackMode.NONE)),
        ({"SKILL_FALLBACK_MODE": " Show_All "}, DisclosureSettings(3, FallbackMode.SHOW_ALL)),
        (
            {"SKILL_MAX_PER_REQUEST": "5", "SKILL_FALLBACK_MODE": "ask_user"},
            DisclosureSettings(5, FallbackMode.ASK_USER),
        ),
        ({"SKILL_MAX_PER_REQUEST": ""}, DisclosureSettings()),
    ],
)
def test_the_users_wishes(environment, expected):
    assert DisclosureSettings.from_environment(environment) == expected


def test_the_environment_of_the_process_is_the_default(monkeypatch):
    monkeypatch.setenv("SKILL_FALLBACK_MODE", "show_all")
    assert DisclosureSettings.from_environment().fallback is FallbackMode.SHOW_ALL


@pytest.mark.parametrize("environment", [{"SKILL_FALLBACK_MODE": "often"}, {"SKILL_MAX_PER_REQUEST": "-1"}])
def test_a_wish_that_means_nothing_is_refused(environment):
    with pytest.raises(ConfigurationError, match=next(iter(environment))):
        DisclosureSettings.from_environment(environment)
