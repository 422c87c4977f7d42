"""What one request is given: instructions, insertions, tools, matches, the price and the choice of model."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from skillkit.core.models import SkillMetadata
from skillkit.disclosure.placement import Insertion
from skillkit.disclosure.tools import Tool
from skillkit.matching import Match


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Tokens by tier."""

    catalogue: int = 0
    """Tier 1 and what is said about it: the part of the system prompt that is always there."""
    skills: int = 0
    """Tier 2: the texts of matched and active skills."""
    note: int = 0
    """What is said about this request alone: the skills near it."""
    tools: int = 0
    """Names, descriptions and schemas of the tools."""

    @property
    def total(self) -> int:
        return self.catalogue + self.skills + self.note + self.tools

    def to_data(self) -> dict[str, int]:
        return {**asdict(self), "total": self.total}


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What to add to a request."""

    instructions: str
    """What to append to the system prompt: the same bytes in every request of a conversation."""
    insertions: tuple[Insertion, ...]
    """What stands among the messages: texts of skills, each after the message of the user that brought it,
    and last the `note`. The program's own history stays as it is."""
    note: str
    """What is said about this request alone and not kept: the skills near it, what changed."""
    tools: tuple[Tool, ...]
    matched: tuple[Match, ...]
    """The skills that fit this request and why, best first."""
    left_out: tuple[Match, ...]
    """Skills that fit too, beyond the limit."""
    active: tuple[str, ...]
    """Ids of every skill in use, the newest last."""
    candidates: tuple[Match, ...]
    """Near skills that did not match: to ask the user about, or not described in a cut catalogue."""
    notes: tuple[str, ...]
    """What a person should know about this request."""
    tokens: TokenUse

    @property
    def everything(self) -> str:
        """Instructions and insertions in one text, for a program that can set nothing but a system prompt."""
        return "\n\n".join(
            part for part in (self.instructions, *(each.text for each in self.insertions)) if part
        )


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
