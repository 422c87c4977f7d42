"""Select further skills of a source: declared requirements, and those named by --with."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from skillkit.core.mentions import marked_names
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError, Remedy
from skillkit.install.fetch import LoadedSkill, fetch_at, list_choices
from skillkit.install.paths import installed_identity
from skillkit.install.sources.source import OpenSource
from skillkit.install.tree import TreeLimits

_MAX_NEEDED = 50
_MAX_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Closure:
    """The wanted skills, their dependencies, and notes on each."""

    skills: tuple[LoadedSkill, ...]
    notes: Mapping[str, Sequence[str]]
    """By path in the source: why it comes, what it lacks, and what it mentions."""


def find_closure(
    opened: OpenSource,
    start: str,
    wanted: Sequence[LoadedSkill],
    installed: Collection[str],
    limits: TreeLimits,
    *,
    alone: bool = False,
    also: Sequence[str] = (),
) -> Closure:
    """Return the wanted skills with `also` and, unless `alone`, the requirements that are not installed.

    Raises InstallError if the source has no skill of a name in `also`.
    """
    siblings = _Siblings(opened, start)
    there = {skill.skill.name_canonical: skill for skill in wanted}
    for name in map(canonical_name, also):
        if name not in there:
            if (fetched := siblings.fetch(name, limits)) is None:
                message = f"The source has no skill '{escape_hidden(name)}'"
                raise InstallError(message, remedy=Remedy.CHOOSE)
            there[name] = fetched
    waiting = [*wanted, *(skill for skill in there.values() if skill not in wanted)]
    skills: list[LoadedSkill] = []
    came_for: dict[str, list[str]] = defaultdict(list)
    notes: dict[str, list[str]] = defaultdict(list)
    while waiting:
        skill = waiting.pop(0)
        skills.append(skill)
        name, path = skill.skill.name_canonical, skill.skill.subpath
        for need in _needs(skill):
            if need in installed:
                continue
            if need not in there and not alone and len(there) - len(wanted) < _MAX_NEEDED:
                fetched = siblings.fetch(need, limits)
                if fetched is not None:
                    there[need] = fetched
                    waiting.append(fetched)
            if need not in there:
                notes[path].append(f"needs '{escape_hidden(need)}', which is not installed")
            elif there[need] not in wanted:
                other = there[need].skill.subpath
                came_for[other].append(name)
                notes[other].append(f"needed by '{escape_hidden(name)}': its header requires it")
    for skill in skills:
        known = {*there, *installed, *_needs(skill)}
        text = skill.tree.skill_file.decode("utf-8", "replace")
        mentioned = dict.fromkeys(name for name in marked_names(text) if name in siblings.names)
        if names := [name for name in mentioned if name not in known]:
            notes[skill.skill.subpath].append(_mention(names))
    return Closure(tuple(_with_needs(skill, came_for) for skill in skills), notes)


def _needs(skill: LoadedSkill) -> tuple[str, ...]:
    return tuple(map(canonical_name, skill.metadata.requires.skills))


def _with_needs(skill: LoadedSkill, came_for: Mapping[str, Sequence[str]]) -> LoadedSkill:
    """Return the skill with its requirements in its record, and the skills that require it."""
    reasons = tuple(came_for.get(skill.skill.subpath, ()))
    return replace(skill, skill=replace(skill.skill, needs=_needs(skill), came_for=reasons))


def _mention(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    shown = ", ".join(names[:_MAX_SHOWN]) + more
    return f"mentions {shown} (same source, not installed): add --with {names[0]}"


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

    def fetch(self, name: str, limits: TreeLimits) -> LoadedSkill | None:
        if name not in self._paths and not self._headers_read:
            self._headers_read = True
            for choice in list_choices(self._opened, self._folders):
                self._paths.setdefault(canonical_name(choice.name), choice.path)
        path = self._paths.get(name)
        try:
            return None if path is None else fetch_at(self._opened, path, limits)
        except InstallError:
            return None
