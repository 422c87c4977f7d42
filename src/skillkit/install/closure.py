"""Which other skills of a source come along: those that are declared as needed or asked for with --with."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from skillkit.core.mentions import marked_names
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError, Remedy
from skillkit.install.fetch import FetchedSkill, fetch_at, list_choices
from skillkit.install.paths import installed_identity
from skillkit.install.sources.source import OpenSource
from skillkit.install.tree import TreeLimits

_MAX_NEEDED = 50
_MAX_SHOWN = 10


@dataclass(frozen=True)
class Closure:
    """Skills that others need, by the path of each in the source."""

    added: tuple[FetchedSkill, ...]
    """What comes along."""
    needs: Mapping[str, tuple[str, ...]]
    """Canonical names of what each skill declares as needed."""
    came_for: Mapping[str, tuple[str, ...]]
    """Canonical names of the skills that each of `added` is needed by."""
    notes: Mapping[str, tuple[str, ...]]
    """What the card says about each: why it comes, what it lacks, and what it mentions."""


def find_closure(
    opened: OpenSource,
    start: str,
    wanted: Sequence[FetchedSkill],
    installed: Collection[str],
    limits: TreeLimits,
    *,
    alone: bool = False,
    also: Sequence[str] = (),
) -> Closure:
    """Return what comes along: `also`, and needs that are not installed, unless `alone`.

    Raises InstallError if the source has no skill of a name in `also`.
    """
    siblings = _Siblings(opened, start)
    there = {canonical_name(skill.name): skill for skill in wanted}
    added: list[FetchedSkill] = []
    for name in map(canonical_name, also):
        if name not in there:
            fetched = siblings.fetch(name, limits)
            if fetched is None:
                message = f"The source has no skill '{escape_hidden(name)}'"
                raise InstallError(message, remedy=Remedy.CHOOSE)
            there[name] = fetched
            added.append(fetched)
    needs: dict[str, tuple[str, ...]] = {}
    came_for: dict[str, list[str]] = {}
    waiting = [*wanted, *added]
    notes: dict[str, list[str]] = {skill.source.path: [] for skill in waiting}
    while waiting:
        skill = waiting.pop(0)
        path, name = skill.source.path, canonical_name(skill.name)
        needs[path] = tuple(map(canonical_name, skill.installed_metadata.requires.skills))
        for need in needs[path]:
            if need in installed:
                continue
            if need not in there and not alone and len(added) < _MAX_NEEDED:
                fetched = siblings.fetch(need, limits)
                if fetched is not None:
                    there[need] = fetched
                    added.append(fetched)
                    waiting.append(fetched)
                    notes[fetched.source.path] = []
            if need not in there:
                notes[path].append(f"needs '{escape_hidden(need)}', which is not installed")
            elif there[need] in added:
                other = there[need].source.path
                came_for.setdefault(other, []).append(name)
                notes[other].append(f"needed by '{escape_hidden(name)}': its header requires it")
    for skill in (*wanted, *added):
        known = {*there, *installed, *needs[skill.source.path]}
        text = skill.tree.skill_file.decode("utf-8", "replace")
        mentioned = dict.fromkeys(name for name in marked_names(text) if name in siblings.names)
        if names := [name for name in mentioned if name not in known]:
            notes[skill.source.path].append(_mention(names))
    return Closure(
        tuple(added),
        needs,
        {path: tuple(names) for path, names in came_for.items()},
        {path: tuple(said) for path, said in notes.items()},
    )


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

    def fetch(self, name: str, limits: TreeLimits) -> FetchedSkill | None:
        if name not in self._paths and not self._headers_read:
            self._headers_read = True
            for choice in list_choices(self._opened, self._folders):
                self._paths.setdefault(canonical_name(choice.name), choice.path)
        path = self._paths.get(name)
        try:
            return None if path is None else fetch_at(self._opened, path, limits)
        except InstallError:
            return None
