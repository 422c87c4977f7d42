"""A matched skill; separate from the matcher, so that displaying a match imports less."""

from dataclasses import dataclass

from skillkit.core.models import SkillMetadata


@dataclass(frozen=True, slots=True)
class Match:
    """A skill, its confidence (0 to 1, comparable between libraries), and the reasons."""

    skill: SkillMetadata
    score: float
    reasons: tuple[str, ...]
    certain: bool = False
    """Whether the request names it or contains one of its declared triggers, whatever its score."""
    ordered: bool = False
    """Whether the request explicitly asks to use it by name."""
