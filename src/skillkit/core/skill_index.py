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


class NameConflict(NamedTuple):
    """Result of adding a skill whose name is already in use."""

    winner: SkillMetadata
    address: str
    """The qualified name of the shadowed skill."""


class SkillIndex:
    """Skills by canonical name; the first one added under a name wins, the others stay reachable."""

    def __init__(self) -> None:
        self._by_name: dict[str, SkillMetadata] = {}
        self._sorted: list[SkillMetadata] | None = None
        """The winners, sorted, until one comes or goes: a request asks for all of them."""
        self._listed: list[SkillMetadata] | None = None
        """The winners that may be offered to a model."""
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
        """The winners whose headers allow offering them to a model; do not mutate."""
        if self._listed is None:
            self._listed = [skill for skill in self if not skill.disable_model_invocation]
        return self._listed

    def add(self, skill: SkillMetadata) -> NameConflict | None:
        """Add `skill`; return the conflict if another skill already has its name."""
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
            # Two of one name in one source: the later one is addressed by its folder. No name has a '/'.
            folder = _shortest_free(skill.base_dir.parts, of_source)
            of_source[folder] = skill
            address = f"{skill.source_label}:{folder}"
        self._shadowed[address] = skill
        return NameConflict(winner, address)

    def promote(self, address: str) -> NameConflict:
        """Give the shadowed skill at `address` its name; return the new conflict."""
        skill = self._shadowed.pop(address)
        self._sorted = self._listed = None
        loser = self._by_name[skill.canonical_name]
        self._by_name[skill.canonical_name] = skill
        self._shadowed[loser.qualified_name] = loser
        return NameConflict(skill, loser.qualified_name)

    @property
    def by_name(self) -> Mapping[str, SkillMetadata]:
        return MappingProxyType(self._by_name)

    @property
    def by_source(self) -> Mapping[str, Mapping[str, SkillMetadata]]:
        return MappingProxyType(self._by_source)

    @property
    def shadowed(self) -> dict[str, SkillMetadata]:
        """Shadowed skills by qualified name."""
        return dict(self._shadowed)

    @property
    def everything(self) -> dict[str, SkillMetadata]:
        """All skills, each by a unique qualified name."""
        return {skill.qualified_name: skill for skill in self} | self._shadowed

    def find(self, name: str) -> SkillMetadata | None:
        if ":" in name:
            # First, so that no skill can take the address of another one by its name.
            label, _, rest = name.partition(":")
            of_source = self._by_source.get(label, {})
            if (skill := of_source.get(rest) or of_source.get(canonical_name(rest))) is not None:
                return skill
        return self._by_name.get(name) or self._by_name.get(canonical_name(name))

    def get(self, name: str) -> SkillMetadata:
        """Return the skill of that name, canonical or qualified; raise SkillNotFoundError with near names."""
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
    """Return as many trailing folders of a path as make it unique."""
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
