"""A skill that fits a request; apart from the matcher, which whoever only shows matches need not import."""

from dataclasses import dataclass

from skillkit.core.models import SkillMetadata


@dataclass(frozen=True, slots=True)
class Match:
    """A skill, how surely it fits (0 to 1, comparable between libraries), and why."""

    skill: SkillMetadata
    score: float
    reasons: tuple[str, ...]
    certain: bool = False
    """Whether the request names it or has one of its declared triggers, whatever its score."""
    ordered: bool = False
    """Whether the request names it as a skill to be used."""
