"""What a manager offers to models at this moment, and which of it fits a request."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
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
"""Skills that are named with a request, and written into the journal, beside those that matched."""
RANKED = NEAREST + 8
"""Asked of the matcher, so that active skills and copies of one another leave enough to name."""
_WORTH_NAMING, _USUAL_SIZE = 0.004, 100


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """The skills on offer and their catalogue."""

    skills: tuple[SkillMetadata, ...]
    ids: tuple[str, ...]
    catalogue: Catalogue
    digest: str
    """Of everything the catalogue depends on."""
    library: tuple[SkillMetadata, ...] = ()
    """These skills and those that wait for files that fit their `paths`."""
    waiting: frozenset[str] = frozenset()
    """The ids of those that wait."""
    _present: frozenset[str] = frozenset()

    def admits(self, skill: SkillMetadata) -> bool:
        """Whether a skill is on offer: one that a matcher found for somebody else at the same time is not."""
        return skill_id(skill) in self._present


NO_OFFER = Offer((), (), NO_SKILLS, "")
_PARTS = 64
"""Offers without some of the skills that wait for files, which are remembered."""


class Offers:
    """Watches one manager; the same object comes back as long as nothing has changed."""

    def __init__(
        self,
        manager: SkillManager,
        *,
        counter: TokenCounter,
        budget: int | None = None,
        style: CatalogueStyle = CatalogueStyle.COMPACT,
        rank: Rank = by_distance,
        names_files: Callable[[str, SkillSession], bool],
    ) -> None:
        """`names_files` says whether the arguments of a tool name files that skills with `paths` wait for."""
        self.manager = manager
        self.counter = counter
        self.budget = budget
        self.style = style
        self.rank = rank
        self.names_files = names_files
        self._offer = NO_OFFER
        self._skills: list[SkillMetadata] = []
        self._waiting: tuple[SkillMetadata, ...] = ()
        self._parts: dict[frozenset[str], Offer] = {}
        self._lock = RLock()

    def current(self, session: SkillSession | None = None, messages: Messages | None = None) -> Offer:
        """What is offered now; a manager that was never filled is filled first.

        To a `session`, skills with `paths` are offered while a file that fits is in play; the files that
        `messages` name are.
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
        """The current offer as XML, under this budget, the one that was chosen or the usual one."""
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
        return render_catalogue(skills, budget=budget, style=style, counter=self.counter, rank=self.rank)

    def _digest(self, skills: list[SkillMetadata]) -> str:
        digest = hashlib.sha256(f"{self.style.value} {self.budget}\0".encode())
        for skill in skills:
            digest.update(f"{skill_id(skill)}\0{skill.description}\0".encode("utf-8", "surrogatepass"))
            if self.style is CatalogueStyle.LOCATION:
                digest.update(os.fsencode(skill.skill_path) + b"\0")
        return digest.hexdigest()


class Matcher(Protocol):
    """What disclosure needs of `skillkit.matching.SkillMatcher`, or of another engine in its place."""

    def update(self, skills: Iterable[SkillMetadata]) -> None:
        """Make the library exactly these skills."""

    def match(self, request: str, limit: int | None = None) -> Sequence[Match]:
        """The skills that fit, best first; empty when none does."""

    def rank(self, request: str, limit: int = 10) -> Sequence[Match]:
        """The nearest skills, whether or not they are near enough to match."""


def worth_naming(skills: int) -> float:
    """The confidence below which a skill is not even named, in a library of so many.

    The line rises with the library, and with it a skill that is as near as before has less confidence.
    """
    return _WORTH_NAMING * float((_USUAL_SIZE / max(skills, _USUAL_SIZE)) ** 0.25)


def nearest(ranked: Iterable[Match], active: Iterable[SkillMetadata], floor: float) -> list[Match]:
    """Return what is worth a line of what a matcher ranked, beside the skills in use."""
    said = {skill.description for skill in active}
    near: list[Match] = []
    for match in ranked:
        named = match.skill.description in said  # a copy under another name would say nothing more
        if match.reasons and match.score >= floor and not named:
            said.add(match.skill.description)
            near.append(match)
    return near[:NEAREST]


class OfferMatcher:
    """Keeps a matcher filled with what is on offer; what is not on offer is never returned."""

    def __init__(self, matcher: Matcher | None = None) -> None:
        """Without a `matcher`, one of words is made at the first request."""
        self._matcher = matcher
        self._library: tuple[SkillMetadata, ...] | None = None
        self._filling: Future[None] = Future()
        self._lock = RLock()

    def filled(self, offer: Offer) -> Matcher:
        """Return the matcher, made and filled when it is first needed."""
        with self._lock:
            if self._matcher is None:
                from skillkit.matching import SkillMatcher  # not before something is matched

                self._matcher = SkillMatcher()
            matcher, filling = self._matcher, self._filling
            begun = offer.library is self._library
            if not begun:
                filling = self._filling = Future()
                self._library = offer.library
        if not begun:  # without the lock: an index takes its time
            try:
                matcher.update(offer.library)
            except BaseException as error:
                with self._lock:
                    self._library = None
                filling.set_exception(error)
                raise
            filling.set_result(None)
        filling.result()
        return matcher

    def match(self, request: str, offer: Offer, limit: int) -> list[Match]:
        """Return the skills that fit, best first."""
        found = self.filled(offer).match(request, limit + len(offer.waiting))
        return [match for match in found if offer.admits(match.skill)][:limit]

    def rank(self, request: str, offer: Offer) -> list[Match]:
        """Return the nearest skills, whether or not they are near enough to match."""
        found = self.filled(offer).rank(request, RANKED + len(offer.waiting))
        return [match for match in found if offer.admits(match.skill)]

    def near(
        self, request: str, offer: Offer, active: Iterable[SkillMetadata], limit: int
    ) -> tuple[Match, ...]:
        """Return the nearest skills beside those in use, as far as there is a reason to name them."""
        near = nearest(self.rank(request, offer), active, worth_naming(len(offer.library)))
        return tuple(near[:limit])

    def line(self, offer: Offer) -> float | None:
        """Return the score from which a skill counts as matched, where the engine has one."""
        line = getattr(self.filled(offer), "threshold", None)
        return line if isinstance(line, float) else None

    def prepare(self, offer: Offer) -> None:
        """Fill the matcher, and let an engine that has something to prepare do it now."""
        prepare = getattr(self.filled(offer), "prepare", None)
        if prepare is not None:
            prepare()
