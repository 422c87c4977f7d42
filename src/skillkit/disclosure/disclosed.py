"""Additions to one request: instructions, insertions, tools, matches, token counts and model choice."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from skillkit.core.models import SkillMetadata
from skillkit.disclosure.placement import Insertion
from skillkit.disclosure.tools import Tool
from skillkit.matching import Match


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Token counts by tier."""

    catalogue: int = 0
    """Tier 1 and its introduction: the constant part of the system prompt."""
    skills: int = 0
    """Tier 2: the texts of matched and active skills."""
    note: int = 0
    """The note on this request: nearby skills."""
    tools: int = 0
    """Names, descriptions and schemas of the tools."""

    @property
    def total(self) -> int:
        return self.catalogue + self.skills + self.note + self.tools

    def to_data(self) -> dict[str, int]:
        return {**asdict(self), "total": self.total}


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The additions to a request."""

    instructions: str
    """Text to append to the system prompt: identical bytes in every request of a conversation."""
    insertions: tuple[Insertion, ...]
    """Texts of skills to insert among the messages, each after the user message that matched it, and the
    `note` last. The program's own history is unchanged."""
    note: str
    """The note on this request, not kept in history: nearby skills and changes."""
    tools: tuple[Tool, ...]
    matched: tuple[Match, ...]
    """The skills that match this request, with reasons, best first."""
    left_out: tuple[Match, ...]
    """Further matches beyond the limit."""
    active: tuple[str, ...]
    """Ids of all active skills, the newest last."""
    candidates: tuple[Match, ...]
    """Nearby skills that did not match: candidates for a question to the user, or without a description in a
    truncated catalogue."""
    notes: tuple[str, ...]
    """Notices for the user about this request."""
    tokens: TokenUse

    @property
    def everything(self) -> str:
        """Return instructions and insertions as one text, for programs that can only set a system prompt."""
        return "\n\n".join(
            part for part in (self.instructions, *(each.text for each in self.insertions)) if part
        )


EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model and effort that skills request; None keeps the program's choice."""

    model: str | None = None
    """As written by the author: `haiku`, or a model name of some service."""
    effort: str | None = None
    """One of EFFORTS."""


def choice_of(skills: Iterable[SkillMetadata | None]) -> ModelChoice:
    """Return the first model and the first effort requested by `skills`."""
    model = effort = None
    for skill in skills:
        if skill is not None:
            wanted = (skill.effort or "").lower()
            model = model or (None if skill.model in (None, "", "inherit") else skill.model)
            effort = effort or (wanted if wanted in EFFORTS else None)
    return ModelChoice(model, effort)
