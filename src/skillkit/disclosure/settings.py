"""Disclosure settings from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from skillkit.core.exceptions import ConfigurationError

DEFAULT_MAX_SKILLS = 3
DEFAULT_MAX_INSTRUCTION_TOKENS = 25_000


class FallbackMode(str, Enum):
    """What to do when no skill matches a request."""

    NONE = "none"
    """Nothing: the model has the catalogue and `load_skill`."""
    SHOW_ALL = "show_all"
    """Describe the skills that a truncated catalogue omits, and ask the model to review them."""
    ASK_USER = "ask_user"
    """Name the nearest skills and have the model ask the user."""

    @classmethod
    def parse(cls, text: "FallbackMode | str") -> "FallbackMode":
        try:
            return cls(str(getattr(text, "value", text)).strip().lower())
        except ValueError:
            modes = ", ".join(mode.value for mode in cls)
            raise ConfigurationError(
                f"SKILL_FALLBACK_MODE is {text!r}; it can be one of: {modes}", "SKILL_FALLBACK_MODE"
            ) from None


@dataclass(frozen=True, slots=True)
class DisclosureSettings:
    """Settings for building a provider."""

    max_skills: int = DEFAULT_MAX_SKILLS
    fallback: FallbackMode = FallbackMode.NONE
    max_instruction_tokens: int = DEFAULT_MAX_INSTRUCTION_TOKENS
    """Limit per skill: longer instructions are refused whole, and can be read page by page."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "DisclosureSettings":
        """Read `SKILL_MAX_PER_REQUEST`, `SKILL_FALLBACK_MODE` and `SKILL_MAX_INSTRUCTION_TOKENS`."""
        environment = os.environ if environment is None else environment
        return cls(
            max_skills=_number(environment, "SKILL_MAX_PER_REQUEST", DEFAULT_MAX_SKILLS),
            fallback=FallbackMode.parse(environment.get("SKILL_FALLBACK_MODE", "").strip() or "none"),
            max_instruction_tokens=_number(
                environment, "SKILL_MAX_INSTRUCTION_TOKENS", DEFAULT_MAX_INSTRUCTION_TOKENS
            ),
        )


def _number(environment: Mapping[str, str], variable: str, default: int) -> int:
    text = environment.get(variable, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()):
        raise ConfigurationError(f"{variable} is {text!r}; it must be a number such as {default}", variable)
    return int(text)
