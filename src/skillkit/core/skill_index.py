"""Names → skills: the in-memory index of what was discovered."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import NamedTuple

from skillkit.core.exceptions import SkillNotFoundError
from skillkit.core.models import QualifiedSkillName, SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import shown

_MAX_NAMED = 20


class NameTaken(NamedTuple):
    """The outcome for a skill whose name another one already has."""

    winner: SkillMetadata
    address: str
    """The qualified name that finds the one that came too late."""


class SkillIndex:
    """Skills by canonical name; the first one added under a name wins, the others stay reachable."""

    def __init__(self) -> None:
        self._by_name: dict[str, SkillMetadata] = {}
        self._sorted: list[SkillMetadata] | None = None
        """The winners, sorted, until one comes or goes: a request asks for all of them."""
        self._listed: list[SkillMetadata] | None = None
        """Those of them that a model may be told of."""
        self._by_source: dict[str, dict[str, SkillMetadata]] = {}
        self._shadowed: dict[str, SkillMetadata] = {}
        self.skipped: dict[str, str] = {}
        """Why a SKILL.md was skipped, by the canonical name of its folder."""

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[SkillMetadata]:
        """The winners, sorted by canonical name."""
        winners = self._sorted
        if winners is None:
            winners = self._sorted = [self._by_name[name] for name in sorted(self._by_name)]
        return iter(winners)

    @property
    def listed(self) -> list[SkillMetadata]:
        """The winners that a model may be told of, as far as their headers say; not to be changed."""
        if self._listed is None:
            self._listed = [skill for skill in self if not skill.disable_model_invocation]
        return self._listed

    def add(self, skill: SkillMetadata) -> NameTaken | None:
        """Take in `skill`; return who keeps its name, if another skill has it already."""
        name = skill.canonical_name
        self._sorted = self._listed = None
        winner = self._by_name.setdefault(name, skill)
        of_source = self._by_source.get(skill.source_label)
        if of_source is None:
            of_source = self._by_source[skill.source_label] = {}
        if winner is skill:
            of_source[name] = skill
            return None
        address = skill.qualified_name
        if of_source.setdefault(name, skill) is not skill:
            # Two of one name in one source: the later one answers to its folder. No name has a '/'.
            folder = _shortest_free(skill.base_dir.parts, of_source)
            of_source[folder] = skill
            address = f"{skill.source_label}:{folder}"
        self._shadowed[address] = skill
        return NameTaken(winner, address)

    def promote(self, address: str) -> NameTaken:
        """Give the shadowed skill at `address` its name; return who has it now and where the other is."""
        skill = self._shadowed.pop(address)
        self._sorted = self._listed = None
        loser = self._by_name[skill.canonical_name]
        self._by_name[skill.canonical_name] = skill
        self._shadowed[loser.qualified_name] = loser
        return NameTaken(skill, loser.qualified_name)

    @property
    def by_name(self) -> Mapping[str, SkillMetadata]:
        return MappingProxyType(self._by_name)

    @property
    def by_source(self) -> Mapping[str, Mapping[str, SkillMetadata]]:
        return MappingProxyType(self._by_source)

    @property
    def shadowed(self) -> dict[str, SkillMetadata]:
        """Skills whose name belongs to another one, by the qualified name that finds them."""
        return dict(self._shadowed)

    @property
    def everything(self) -> dict[str, SkillMetadata]:
        """All skills, each by a qualified name that finds exactly this one."""
        return {skill.qualified_name: skill for skill in self} | self._shadowed

    def find(self, name: str) -> SkillMetadata | None:
        if ":" in name:
            # First, so that no skill can take the address of another one by calling itself so.
            label, _, rest = name.partition(":")
            of_source = self._by_source.get(label, {})
            if (skill := of_source.get(rest) or of_source.get(canonical_name(rest))) is not None:
                return skill
        return self._by_name.get(name) or self._by_name.get(canonical_name(name))

    def get(self, name: str) -> SkillMetadata:
        """The skill of that name, canonical or qualified; raises SkillNotFoundError with near misses."""
        try:
            skill = self.find(name)
        except TypeError as error:
            raise SkillNotFoundError(f"A skill's name is text, not {type(name).__name__}") from error
        if skill is None:
            raise SkillNotFoundError(self._not_found(name))
        return skill

    def _not_found(self, name: str) -> str:
        try:
            parsed = QualifiedSkillName.parse(name)
        except ValueError as error:
            return f"Skill '{shown(name)}' not found: {error}"
        if (reason := self.skipped.get(canonical_name(parsed.skill))) is not None:
            return f"Skill '{shown(name)}' was skipped: {reason}"
        if parsed.plugin is None:
            offer = _offer(shown(name), self._by_name, "Available skills")
            return f"Skill '{shown(name)}' not found. {offer}"
        if parsed.plugin not in self._by_source:
            offer = _offer(shown(parsed.plugin), self._by_source, "Available plugins and sources")
            return f"Plugin '{shown(parsed.plugin)}' not found. {offer}"
        offer = _offer(shown(parsed.skill), self._by_source[parsed.plugin], "Available skills there")
        return f"Skill '{shown(parsed.skill)}' not found in plugin '{parsed.plugin}'. {offer}"


def _shortest_free(parts: tuple[str, ...], taken: dict[str, SkillMetadata]) -> str:
    """As many of the last folders in a path as it takes to be told from the others."""
    folders = ("/".join(parts[-count:]) for count in range(2, len(parts) + 1))
    return next((folder for folder in folders if folder not in taken), "/".join(parts))


def _offer(
    asked: str,
    available: "dict[str, SkillMetadata] | dict[str, dict[str, SkillMetadata]]",
    label: str,
) -> str:
    names = sorted(available)
    close = get_close_matches(canonical_name(asked), names, n=3, cutoff=0.6)
    hint = f"Did you mean {' or '.join(repr(name) for name in close)}? " if close else ""
    listed = ", ".join(names[:_MAX_NAMED]) or "none"
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{hint}{label}: {listed}{more}"
