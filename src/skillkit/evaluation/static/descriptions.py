"""Check that a description is distinguishable from others in the library."""

from collections.abc import Iterator

from skillkit.core.models import SkillMetadata
from skillkit.evaluation.report import Problem
from skillkit.matching.matcher import SkillMatcher
from skillkit.matching.terms import terms

LEAST_WORDS = 4
SAME = 0.8
"""Share of common words from which two descriptions are indistinguishable."""


def description_room(skill: SkillMetadata, matcher: SkillMatcher) -> Iterator[Problem]:
    """Yield a description that is too short, or that another one duplicates."""
    own = set(terms(skill.description))
    if len(own) < LEAST_WORDS:
        yield Problem(
            f"the description has {len(own)} telling word{'s' * (len(own) != 1)}; say what the skill does "
            "and when to use it",
            "SKILL.md",
        )
        return
    for match in matcher.rank(skill.description, 4):
        other = match.skill
        if other.canonical_name == skill.canonical_name:
            continue
        theirs = set(terms(other.description))
        common = len(own & theirs) / max(1, len(own | theirs))
        if common >= SAME:
            yield Problem(
                f"the description says the same as that of {other.name}: {common:.0%} of the words",
                "SKILL.md",
            )
            return
    for match in matcher.rank(skill.description, 1):
        if match.skill.canonical_name != skill.canonical_name:
            yield Problem(
                f"{match.skill.name} wins for the words of this description ({'; '.join(match.reasons[:2])})",
                "SKILL.md",
                warning=True,
            )
