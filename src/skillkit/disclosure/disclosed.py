"""What one request is given: instructions, tools, the skills that matched, and the price."""

from dataclasses import dataclass

from skillkit.disclosure.matches import Match
from skillkit.disclosure.tools import Tool


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Tokens by tier."""

    catalogue: int = 0
    """Tier 1 and what is said about it: the part of the system prompt that is always there."""
    skills: int = 0
    """Tier 2: the texts of matched and active skills."""
    tools: int = 0
    """Names, descriptions and schemas of the tools."""

    @property
    def total(self) -> int:
        return self.catalogue + self.skills + self.tools

    def to_data(self) -> dict[str, int]:
        return {
            "catalogue": self.catalogue,
            "skills": self.skills,
            "tools": self.tools,
            "total": self.total,
        }


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What to add to a request."""

    catalogue: str
    """The stable part of the instructions; the same bytes until the offer of skills changes."""
    skills: str
    """The changing part: texts of skills, and notes about this request."""
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
    def instructions(self) -> str:
        """What to append to the system prompt; empty when there is nothing to say."""
        return "\n\n".join(part for part in (self.catalogue, self.skills) if part)
