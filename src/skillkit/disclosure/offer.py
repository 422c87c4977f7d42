"""What a manager offers to models at this moment, rendered once until it changes."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock

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
