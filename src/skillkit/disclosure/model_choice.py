"""Which model and how much effort a skill wants (`model`, `effort`), for frameworks that can choose."""

from collections.abc import Iterable
from dataclasses import dataclass

from skillkit.core.models import SkillMetadata

EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What skills ask for; None leaves what the program has chosen."""

    model: str | None = None
    """As the author wrote it: `haiku`, or the name of a model of some service."""
    effort: str | None = None
    """One of EFFORTS."""


def choice_of(skills: Iterable[SkillMetadata | None]) -> ModelChoice:
    """What the first of `skills` that asks for a model, and for an effort, asks for."""
    model = effort = None
    for skill in skills:
        if skill is not None:
            wanted = (skill.effort or "").lower()
            model = model or (None if skill.model in (None, "", "inherit") else skill.model)
            effort = effort or (wanted if wanted in EFFORTS else None)
    return ModelChoice(model, effort)
