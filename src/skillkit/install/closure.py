"""What else of a source is needed by the skills that are wanted, and why."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError
from skillkit.install.fetch import FetchedSkill, fetch_at, list_choices
from skillkit.install.needs import Need, needs_of
from skillkit.install.paths import installed_identity
from skillkit.install.sources.source import OpenSource
from skillkit.install.tree import TreeLimits

_MAX_NEEDED = 50


@dataclass(frozen=True)
class Closure:
    """Skills that others need, by the path of each in the source."""

    added: tuple[FetchedSkill, ...]
    """What was not asked for and comes along."""
    needs: Mapping[str, tuple[str, ...]]
    """Canonical names of what each skill needs."""
    came_for: Mapping[str, tuple[str, ...]]
    """Canonical names of the skills that each of `added` is needed by."""
    notes: Mapping[str, tuple[str, ...]]
    """What the card says about each: why it comes, or what it lacks."""


def find_closure(
    opened: OpenSource,
    start: str,
    wanted: Sequence[FetchedSkill],
    installed: Collection[str],
    limits: TreeLimits,
    *,
    alone: bool = False,
) -> Closure:
    """Return what the wanted skills need and is not installed; with `alone` it is only named."""
    siblings = _Siblings(opened, start)
    there = {canonical_name(skill.name): skill.source.path for skill in wanted}
    added: list[FetchedSkill] = []
    needs: dict[str, tuple[str, ...]] = {}
    came_for: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {skill.source.path: [] for skill in wanted}
    waiting = list(wanted)
    while waiting:
        skill = waiting.pop(0)
        path, name = skill.source.path, canonical_name(skill.name)
        found = needs_of(
            skill.installed_metadata, skill.tree.skill_file.decode("utf-8", "replace"), siblings.names
        )
        needs[path] = tuple(need.name for need in found)
        for need in found:
            if need.name in installed:
                continue
            other = there.get(need.name)
            if other is None and not alone and len(added) < _MAX_NEEDED:
                fetched = siblings.fetch(need, limits)
                if fetched is not None:
                    other = there[need.name] = fetched.source.path
                    added.append(fetched)
                    waiting.append(fetched)
                    notes[other] = []
            if other is None:
                notes[path].append(f"needs '{escape_hidden(need.name)}', which is not here: {need.reason}")
            elif other in {item.source.path for item in added}:
                came_for.setdefault(other, []).append(name)
                notes[other].append(f"needed by '{escape_hidden(name)}': {need.reason}")
    return Closure(
        tuple(added),
        needs,
        {path: tuple(names) for path, names in came_for.items()},
        {path: tuple(said) for path, said in notes.items()},
    )


class _Siblings:
    """The other skills of a source, by name; headers are read only when folders are called otherwise."""

    def __init__(self, opened: OpenSource, start: str) -> None:
        self._opened = opened
        folders = opened.listing(start).folders
        if list(folders) == [start] and start:
            folders = opened.listing(start.rpartition("/")[0]).folders
        self._folders = folders
        self._paths = {
            installed_identity(path.rpartition("/")[2]): path for path in reversed(folders) if path
        }
        self._headers_read = False

    @property
    def names(self) -> Collection[str]:
        return self._paths

    def fetch(self, need: Need, limits: TreeLimits) -> FetchedSkill | None:
        if need.name not in self._paths and not self._headers_read:
            self._headers_read = True
            for choice in list_choices(self._opened, self._folders):
                self._paths.setdefault(canonical_name(choice.name), choice.path)
        path = self._paths.get(need.name)
        try:
            return None if path is None else fetch_at(self._opened, path, limits)
        except InstallError:
            return None
