"""Names → skills: the in-memory index of what was discovered."""

from collections.abc import Iterator

from skillkit.core.exceptions import SkillNotFoundError
from skillkit.core.models import QualifiedSkillName, SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden

_MAX_NAMED = 20


class Catalogue:
    """Skills by canonical name; the first one added under a name wins, the others stay reachable."""

    def __init__(self) -> None:
        self._by_name: dict[str, SkillMetadata] = {}
        self._by_source: dict[str, dict[str, SkillMetadata]] = {}
        self._shadowed: dict[str, SkillMetadata] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[SkillMetadata]:
        """The winners, sorted by canonical name."""
        return (self._by_name[name] for name in sorted(self._by_name))

    def add(self, skill: SkillMetadata) -> SkillMetadata | None:
        """Take in `skill`; answers the skill that keeps its name, if another one has it already."""
        name = skill.canonical_name
        winner = self._by_name.setdefault(name, skill)
        of_source = self._by_source.get(skill.source_label)
        if of_source is None:
            of_source = self._by_source[skill.source_label] = {}
        if of_source.setdefault(name, skill) is not skill:
            # Two of one name in one source: the later one answers to its folder.
            of_source.setdefault(canonical_name(skill.base_dir.name), skill)
        if winner is skill:
            return None
        self._shadowed[self.address(skill)] = skill
        return winner

    def address(self, skill: SkillMetadata) -> str:
        """The name that finds exactly this skill."""
        if self._by_name.get(skill.canonical_name) is skill:
            return skill.name
        of_source = self._by_source.get(skill.source_label, {})
        if of_source.get(skill.canonical_name) is skill:
            return skill.qualified_name
        return f"{skill.source_label}:{skill.base_dir.name}"

    @property
    def shadowed(self) -> dict[str, SkillMetadata]:
        """Skills whose name belongs to another one, by the qualified name that finds them."""
        return dict(self._shadowed)

    def find(self, name: str) -> SkillMetadata | None:
        skill = self._by_name.get(name)
        if skill is not None or not isinstance(name, str):
            return skill
        canonical = canonical_name(name)
        skill = self._by_name.get(canonical)
        if skill is not None or ":" not in canonical:
            return skill
        label, _, rest = name.partition(":")
        return self._by_source.get(label, {}).get(canonical_name(rest))

    def get(self, name: str) -> SkillMetadata:
        """The skill of that name, canonical or qualified; raises SkillNotFoundError with near misses."""
        skill = self.find(name)
        if skill is None:
            raise SkillNotFoundError(self._not_found(name))
        return skill

    def _not_found(self, name: str) -> str:
        shown = escape_hidden(str(name))
        try:
            parsed = QualifiedSkillName.parse(name)
        except (ValueError, AttributeError, TypeError) as error:
            return f"Skill '{shown}' not found: {error}"
        if parsed.plugin is None:
            return f"Skill '{shown}' not found. {_offer(shown, self._by_name, 'Available skills')}"
        if parsed.plugin not in self._by_source:
            offer = _offer(parsed.plugin, self._by_source, "Available plugins and sources")
            return f"Plugin '{escape_hidden(parsed.plugin)}' not found. {offer}"
        offer = _offer(parsed.skill, self._by_source[parsed.plugin], "Available skills there")
        return f"Skill '{escape_hidden(parsed.skill)}' not found in plugin '{parsed.plugin}'. {offer}"


def _offer(
    asked: str,
    available: "dict[str, SkillMetadata] | dict[str, dict[str, SkillMetadata]]",
    label: str,
) -> str:
    from difflib import get_close_matches

    names = sorted(available)
    close = get_close_matches(canonical_name(asked), names, n=3, cutoff=0.6)
    hint = f"Did you mean {' or '.join(repr(name) for name in close)}? " if close else ""
    listed = ", ".join(names[:_MAX_NAMED]) or "none"
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{hint}{label}: {listed}{more}"
