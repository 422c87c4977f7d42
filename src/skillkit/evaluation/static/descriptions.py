"""Whether a description can win against its neighbours."""

from collections.abc import Iterator

from skillkit.core.models import SkillMetadata
from skillkit.evaluation.report import Problem
from skillkit.matching.matcher import SkillMatcher
from skillkit.matching.terms import terms

LEAST_WORDS = 4
SAME = 0.8
"""Share of words in common from which two descriptions cannot be told apart."""


def description_room(skill: SkillMetadata, matcher: SkillMatcher) -> Iterator[Problem]:
    """A description that says too little, or what another one says already."""
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
