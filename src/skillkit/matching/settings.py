"""Matching settings from the environment."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from skillkit.core.exceptions import ConfigurationError

DEFAULT_LIMIT = 3


class Mode(str, Enum):
    """How requests are compared with skills."""

    KEYWORD = "keyword"
    LEXICAL = "lexical"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"

    @classmethod
    def parse(cls, text: str, parameter: str) -> "Mode":
        try:
            return cls(text.strip().lower())
        except ValueError:
            modes = ", ".join(mode.value for mode in cls)
            raise ConfigurationError(
                f"{parameter} is {text!r}; it can be one of: {modes}", parameter_name=parameter
            ) from None


@dataclass(frozen=True, slots=True)
class MatchingSettings:
    """Settings of the user; None selects the default."""

    mode: Mode | None = None
    limit: int = DEFAULT_LIMIT
    cache_dir: Path | None = None
    """Folder of vectors and the catalogue index; None disables the cache."""
    threshold: float | None = None
    """Minimum confidence of a match: a higher value gives fewer false matches, and more missed ones."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "MatchingSettings":
        """Read `SKILL_MATCHING_MODE`, `SKILL_MATCHING_THRESHOLD`, `SKILL_MAX_PER_REQUEST` and
        `XDG_CACHE_HOME`."""
        environment = os.environ if environment is None else environment
        mode = environment.get("SKILL_MATCHING_MODE", "").strip()
        limit = _number(
            environment.get("SKILL_MAX_PER_REQUEST", ""),
            "SKILL_MAX_PER_REQUEST",
            lambda number: number >= 0 and number.is_integer(),
            f"such as {DEFAULT_LIMIT}",
        )
        return cls(
            mode=Mode.parse(mode, "SKILL_MATCHING_MODE") if mode else None,
            limit=DEFAULT_LIMIT if limit is None else int(limit),
            cache_dir=cache_folder(environment),
            threshold=_number(
                environment.get("SKILL_MATCHING_THRESHOLD", ""),
                "SKILL_MATCHING_THRESHOLD",
                lambda number: 0 < number < 1,
                "between 0 and 1 such as 0.8",
            ),
        )


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Return `skillkit` in the user's cache folder, or None without a home folder."""
    configured = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(configured):  # the specification requires ignoring a relative path
        return Path(configured) / "skillkit"
    home = environment.get("HOME", "")
    return Path(home) / ".cache" / "skillkit" if os.path.isabs(home) else None


def _number(text: str, variable: str, fits: Callable[[float], bool], wanted: str) -> float | None:
    """Parse the value of a variable; None if empty."""
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not fits(number):
        raise ConfigurationError(
            f"{variable} is {text!r}; it must be a number {wanted}", parameter_name=variable
        )
    return number
