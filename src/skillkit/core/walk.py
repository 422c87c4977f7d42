"""Walk of a folder of skills: bounded, sorted, without loops."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from skillkit.core.diagnostics import Diagnostic, Severity

SKILL_FILE = "SKILL.md"
MAX_DEPTH = 12
MAX_FOLDERS = 100_000
MAX_ENTRIES = 100_000
"""Of one folder."""
MAX_ALL_ENTRIES = 1_000_000
"""Of all folders of a walk together."""
MAX_BARREN = 2_000
"""Folders without a skill, one after another behind a link, before the search there is given up."""
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", "site-packages", ".tox"}
)
_VIRTUAL_ENVIRONMENT = "pyvenv.cfg"


class SkillFile(NamedTuple):
    """A SKILL.md found by a walk."""

    path: str
    status: os.stat_result


class _Folder(NamedTuple):
    path: str
    depth: int
    inside_skill: bool
    link: str = ""
    """The symbolic link, seen from the root, that led here."""


class _Listing(NamedTuple):
    folders: list[_Folder]
    other_spelling: SkillFile | None
    """A skill.md or Skill.md in a folder without SKILL.md."""


_EMPTY = _Listing([], None)


class SkillWalk:
    """One pass over a folder: every SKILL.md beneath it, in sorted order, within limits.

    A symbolic link to a folder is followed unless it lies inside a skill. What lies inside a skill is
    left alone unless `include_nested`; a SKILL.md in the root itself does not hide the rest. A link to a
    folder that holds the root is not followed, and one to where there are no skills not for long.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        max_depth: int = MAX_DEPTH,
        max_folders: int = MAX_FOLDERS,
        include_nested: bool = False,
    ) -> None:
        self.root = os.fspath(root)
        self.max_depth = max_depth
        self.max_folders = max_folders
        self.include_nested = include_nested
        self.diagnostics: list[Diagnostic] = []
        """Diagnostics about folders that could not be searched, complete once the walk is over."""
        self.links: set[str] = set()
        """The symbolic links to folders that were followed."""
        self._listed: set[tuple[int, int]] = set()
        self._too_deep: list[str] = []
        self._leading_above: list[str] = []
        self._entries_left = MAX_ALL_ENTRIES
        self._above = _identities_above(self.root)
        self._barren: dict[str, int] = {}

    def __iter__(self) -> Iterator[SkillFile]:
        yield from self._search()
        self._say_once(
            self._too_deep,
            "depth-limit",
            f"Not searched{{more}}: deeper than {self.max_depth} folders; raise max_depth to search them",
        )
        self._say_once(
            self._leading_above,
            "link-above",
            "Not followed{more}: the link leads to a parent of the skills folder",
        )

    def _search(self) -> Iterator[SkillFile]:
        stack = [_Folder(self.root, 0, False)]
        visited = 0
        while stack:
            folder = stack.pop()
            if visited >= self.max_folders:
                self._say(
                    self.root,
                    "folder-limit",
                    f"Stopped after {self.max_folders} folders; raise max_folders to search the rest",
                )
                return
            if folder.link and self._is_barren(folder.link):
                continue
            visited += 1
            found = _skill_in(folder.path)
            if found:
                self._barren[folder.link] = 0
                yield found
                if folder.depth and not self.include_nested:
                    continue
            below = self._listing(folder, has_skill=found is not None)
            if below.other_spelling:
                self._barren[folder.link] = 0
                yield below.other_spelling
                if folder.depth and not self.include_nested:
                    continue
            # One more than can be visited, so that the limit is noticed.
            stack.extend(reversed(below.folders[: self.max_folders - visited + 1]))

    def _is_barren(self, link: str) -> bool:
        """Count one more folder behind `link`; return whether the search there was given up."""
        self._barren[link] = count = self._barren.get(link, 0) + 1
        if count == MAX_BARREN + 1:
            self._say(
                link,
                "folder-limit",
                f"Stopped after {MAX_BARREN:,} folders without a skill behind this link; "
                "link to the skills directly",
            )
        return count > MAX_BARREN

    def _listing(self, folder: _Folder, *, has_skill: bool) -> _Listing:
        try:
            status = os.stat(folder.path)
            if (status.st_dev, status.st_ino) in self._listed:
                return _EMPTY
            self._listed.add((status.st_dev, status.st_ino))
            with os.scandir(folder.path) as entries:
                listing = self._sorted_entries(folder, entries, has_skill=has_skill)
        except FileNotFoundError:
            if folder.depth == 0:
                self._say(folder.path, "unreadable", "Cannot be searched: the folder is gone")
            return _EMPTY  # below the root, it vanished while we looked
        except OSError as error:
            self._say(folder.path, "unreadable", f"Cannot be searched: {error.strerror}")
            return _EMPTY
        if listing.folders and folder.depth >= self.max_depth:
            self._too_deep += (below.path for below in listing.folders)
            return _Listing([], listing.other_spelling)
        return listing

    def _sorted_entries(
        self, folder: _Folder, entries: Iterator["os.DirEntry[str]"], *, has_skill: bool
    ) -> _Listing:
        inside = folder.inside_skill or (has_skill and folder.depth > 0)
        limit = min(MAX_ENTRIES, self._entries_left)
        names: list[str] = []
        spelling: str | None = None
        for number, entry in enumerate(entries):
            if number >= limit:
                self._say(
                    folder.path,
                    "entry-limit",
                    f"Only the first {limit:,} entries were read",
                )
                break
            self._entries_left -= 1
            name = entry.name
            if name == _VIRTUAL_ENVIRONMENT and folder.depth:
                return _EMPTY
            if name in SKIPPED:
                continue
            if not has_skill and name.lower() == "skill.md" and (spelling is None or name < spelling):
                spelling = name
            elif _is_folder(entry, follow=not inside):
                if entry.is_symlink():
                    if self._leads_above(entry):
                        continue
                    self.links.add(f"{folder.path}/{name}")
                names.append(name)
        other = None if spelling is None else _status_of(f"{folder.path}/{spelling}")
        inside = inside or (other is not None and folder.depth > 0)
        return _Listing(
            [self._below(folder, name, inside=inside) for name in sorted(names)],
            other,
        )

    def _below(self, folder: _Folder, name: str, *, inside: bool) -> _Folder:
        path = f"{folder.path}/{name}"
        link = folder.link or (path if path in self.links else "")
        return _Folder(path, folder.depth + 1, inside, link)

    def _leads_above(self, entry: "os.DirEntry[str]") -> bool:
        try:
            status = entry.stat()
        except OSError:
            return False  # it vanished while we looked
        leads_above = (status.st_dev, status.st_ino) in self._above
        if leads_above:
            self._leading_above.append(entry.path)
        return leads_above

    def _say_once(self, paths: list[str], code: str, message: str) -> None:
        """Report `message` for the first of `paths`, with the number of the others."""
        if paths:
            more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
            self._say(min(paths), code, message.format(more=more))

    def _say(self, path: str, code: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(Path(path), code, Severity.WARNING, message))


class SeenFolders:
    """Folders of skills that a pass over several sources has seen."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.roots: set[str] = set()
        self.links: set[str] = set()
        """Symbolic links to folders on the way from a root to a skill."""
        self._files: dict[tuple[int, int], str] = {}
        self._folders: set[tuple[int, int]] = set()

    def is_new(self, found: SkillFile) -> bool:
        """Whether the folder of `found` was not seen before; hard links in two folders are two skills."""
        identity = (found.status.st_dev, found.status.st_ino)
        first = self._files.setdefault(identity, found.path)
        if found.path in self.paths:
            return False
        if first != found.path and not self._is_other_folder(first, found.path):
            return False
        self.paths.add(found.path)
        return True

    def _is_other_folder(self, first: str, path: str) -> bool:
        try:
            self._folders.add(_identity(os.path.dirname(first)))
            folder = _identity(os.path.dirname(path))
        except OSError:
            return False
        new = folder not in self._folders
        self._folders.add(folder)
        return new


def _skill_in(folder: str) -> SkillFile | None:
    path = f"{folder}/{SKILL_FILE}"
    try:
        return SkillFile(path, os.stat(path))
    except OSError:
        return None


def _status_of(path: str) -> SkillFile:
    try:
        return SkillFile(path, os.stat(path))
    except FileNotFoundError:
        return SkillFile(path, os.lstat(path))  # a link to nowhere: reading it says so


def _is_folder(entry: "os.DirEntry[str]", *, follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False


def _identities_above(root: str) -> frozenset[tuple[int, int]]:
    """Return the parents of `root`; empty if one cannot be read."""
    try:
        return frozenset(_identity(os.fspath(folder)) for folder in Path(os.path.realpath(root)).parents)
    except OSError:
        return frozenset()


def _identity(folder: str) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino
