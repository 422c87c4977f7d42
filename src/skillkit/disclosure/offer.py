"""The skills a manager currently offers to models, and those that match a request."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Protocol

from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.catalogue import (
    NO_SKILLS,
    Catalogue,
    CatalogueStyle,
    Rank,
    by_distance,
    render_catalogue,
    skill_id,
)
from skillkit.disclosure.files_in_play import counts, note_files
from skillkit.disclosure.messages import Messages
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tokens import TokenCounter
from skillkit.matching import Match

NEAREST = 20
"""Limit of nearby skills that are named with a request and journaled, besides the matches."""
RANKED = NEAREST + 8
"""Number of results requested from the matcher: enough candidates remain after active skills and copies."""
_WORTH_NAMING, _USUAL_SIZE = 0.004, 100


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """The skills on offer and their catalogue."""

    skills: tuple[SkillMetadata, ...]
    ids: tuple[str, ...]
    catalogue: Catalogue
    digest: str
    """Digest of all inputs of the catalogue."""
    library: tuple[SkillMetadata, ...] = ()
    """The offered skills and those waiting for files that match their `paths`."""
    waiting: frozenset[str] = frozenset()
    """Ids of the skills waiting for files."""
    _present: frozenset[str] = frozenset()

    def admits(self, skill: SkillMetadata) -> bool:
        """Return whether a skill is on offer; a shared matcher may return skills of another conversation."""
        return skill_id(skill) in self._present


NO_OFFER = Offer((), (), NO_SKILLS, "")
_PARTS = 64
"""Number of cached offers that omit some of the skills waiting for files."""


class Matcher(Protocol):
    """The part of `skillkit.matching.SkillMatcher` that disclosure uses; other engines may implement it."""

    def update(self, skills: Iterable[SkillMetadata]) -> None:
        """Replace the library by exactly these skills."""

    def match(self, request: str, limit: int | None = None) -> Sequence[Match]:
        """Return the matching skills, best first; empty if none matches."""

    def rank(self, request: str, limit: int = 10) -> Sequence[Match]:
        """Return the nearest skills, whether or not they match."""


def worth_naming(skills: int) -> float:
    """Return the minimum confidence for naming a skill, in a library of `skills` skills.

    The threshold rises with the library, and an equally near skill has less confidence in a larger one.
    """
    return _WORTH_NAMING * float((_USUAL_SIZE / max(skills, _USUAL_SIZE)) ** 0.25)


def nearest(ranked: Iterable[Match], active: Iterable[SkillMetadata], floor: float) -> list[Match]:
    """Return the ranked matches worth naming, without active skills."""
    said = {skill.description for skill in active}
    near: list[Match] = []
    for match in ranked:
        named = match.skill.description in said  # a copy under another name adds no information
        if match.reasons and match.score >= floor and not named:
            said.add(match.skill.description)
            near.append(match)
    return near[:NEAREST]


class Offers:
    """Tracks one manager's offer, the same object until something changes, and matches requests with it."""

    def __init__(
        self,
        manager: SkillManager,
        matcher: Matcher | None = None,
        *,
        counter: TokenCounter,
        budget: int | None = None,
        style: CatalogueStyle = CatalogueStyle.COMPACT,
        rank: Rank = by_distance,
        names_files: Callable[[str, SkillSession], bool],
    ) -> None:
        """Without a `matcher`, a lexical one is created at the first request. `names_files` decides whether
        the arguments of a tool name files for skills with `paths`."""
        self.manager = manager
        self.counter = counter
        self.budget = budget
        self.style = style
        self.order = rank
        self.names_files = names_files
        self._offer = NO_OFFER
        self._skills: list[SkillMetadata] = []
        self._waiting: tuple[SkillMetadata, ...] = ()
        self._parts: dict[frozenset[str], Offer] = {}
        self._lock = RLock()
        self._matcher = matcher
        self._library: tuple[SkillMetadata, ...] | None = None
        """The skills in the matcher."""
        self._filling = RLock()

    def current(self, session: SkillSession | None = None, messages: Messages | None = None) -> Offer:
        """Return the current offer; an unfilled manager is filled first.

        For a `session`, skills with `paths` are offered while a file in play matches them; files named by
        `messages` are in play.
        """
        with self._lock:
            self.manager.ensure_discovered()
            skills = self.manager.offered_skills()
            if skills != self._skills:
                self._skills = skills
                self._waiting = tuple(skill for skill in skills if skill.paths)
                self._parts = {}
                self._offer = self._made(skills)
            if session is None or not self._waiting:
                return self._offer
            if messages is not None:
                note_files(messages, session, self.manager.project_dir, self.names_files)
            return self._part(session)

    def _part(self, session: SkillSession) -> Offer:
        project = self.manager.project_dir
        absent = frozenset(skill_id(skill) for skill in self._waiting if not counts(skill, session, project))
        if not absent:
            return self._offer
        known = self._parts.get(absent)
        if known is None:
            if len(self._parts) >= _PARTS:
                self._parts.clear()
            present = [skill for skill in self._skills if skill_id(skill) not in absent]
            known = self._parts[absent] = self._made(present, absent)
        return known

    def in_full(self, budget: int | None = None) -> Catalogue:
        """Return the current offer as XML, under this budget, the configured one or the default."""
        style = CatalogueStyle.ID if self.style is CatalogueStyle.COMPACT else self.style
        chosen = self.budget if budget is None else budget
        return self._rendered(self.current().skills, chosen, style)

    def _made(self, skills: list[SkillMetadata], absent: frozenset[str] = frozenset()) -> Offer:
        if not self._skills:
            return NO_OFFER
        ordered = sorted(skills, key=skill_id)
        ids = tuple(skill_id(skill) for skill in ordered)
        return Offer(
            skills=tuple(ordered),
            ids=ids,
            catalogue=self._rendered(ordered, self.budget, self.style),
            digest=self._digest(ordered) if ordered else "",
            library=self._offer.library if absent else tuple(ordered),
            waiting=absent,
            _present=frozenset(ids),
        )

    def _rendered(
        self, skills: Sequence[SkillMetadata], budget: int | None, style: CatalogueStyle
    ) -> Catalogue:
        return render_catalogue(skills, budget=budget, style=style, counter=self.counter, rank=self.order)

    def _digest(self, skills: list[SkillMetadata]) -> str:
        digest = hashlib.sha256(f"{self.style.value} {self.budget}\0".encode())
        for skill in skills:
            digest.update(f"{skill_id(skill)}\0{skill.description}\0".encode("utf-8", "surrogatepass"))
            if self.style is CatalogueStyle.LOCATION:
                digest.update(os.fsencode(skill.skill_path) + b"\0")
        return digest.hexdigest()

    def filled(self, offer: Offer) -> Matcher:
        """Return the matcher, created and filled on first use; it never holds other skills."""
        with self._filling:
            if self._matcher is None:
                from skillkit.matching import SkillMatcher  # imported on first use

                self._matcher = SkillMatcher()
            if offer.library is not self._library:
                self._library = None  # an update that fails may have changed a part
                self._matcher.update(offer.library)
                self._library = offer.library
            return self._matcher

    def match(self, request: str, offer: Offer, limit: int) -> list[Match]:
        """Return the matching skills, best first."""
        found = self.filled(offer).match(request, limit + len(offer.waiting))
        return [match for match in found if offer.admits(match.skill)][:limit]

    def rank(self, request: str, offer: Offer) -> list[Match]:
        """Return the nearest skills, whether or not they match."""
        found = self.filled(offer).rank(request, RANKED + len(offer.waiting))
        return [match for match in found if offer.admits(match.skill)]

    def near(
        self, request: str, offer: Offer, active: Iterable[SkillMetadata], limit: int
    ) -> tuple[Match, ...]:
        """Return the nearest inactive skills that are worth naming."""
        near = nearest(self.rank(request, offer), active, worth_naming(len(offer.library)))
        return tuple(near[:limit])

    def line(self, offer: Offer) -> float | None:
        """Return the score threshold of a match, if the engine has one."""
        line = getattr(self.filled(offer), "threshold", None)
        return line if isinstance(line, float) else None

    def prepare(self, offer: Offer) -> None:
        """Fill the matcher, and let the engine do its own preparation."""
        prepare = getattr(self.filled(offer), "prepare", None)
        if prepare is not None:
            prepare()
