"""A source whose files are in memory: an unpacked archive, or a site's files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError
from skillkit.install.sources.layout import SKILL_FILE, Folder, Listing, find_skills, join, other_spelling
from skillkit.install.sources.source import OpenPerSkill, Source
from skillkit.install.tree import MAX_HEADER_FILE, SkillTree, TreeFile, TreeLimits, refuse_large


class OpenFiles(OpenPerSkill):
    """Files by path, at one revision; a function is called when they are first needed."""

    def __init__(
        self,
        followed: Source,
        files: Mapping[str, TreeFile] | Callable[[], Mapping[str, TreeFile]],
        revision: str | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.followed = followed
        self.revision = revision
        self.notes = notes
        self._given = files

    @cached_property
    def _files(self) -> Mapping[str, TreeFile]:
        return self._given() if callable(self._given) else self._given

    @cached_property
    def _folders(self) -> dict[str, set[str]]:
        """Return the names in each folder: folders, with `/`, and files."""
        folders: dict[str, set[str]] = {"": set()}
        for path in self._files:
            parts = path.split("/")
            for depth, name in enumerate(parts):
                below = depth < len(parts) - 1
                folders.setdefault("/".join(parts[:depth]), set()).add(f"{name}/" if below else name)
        return folders

    def listing(self, start: str = "") -> Listing:
        if start not in self._folders:
            raise InstallError(f"{self.followed.location} has no folder '{escape_hidden(start)}'")
        return find_skills(self._look, start)

    def _look(self, paths: Iterable[str]) -> dict[str, Folder]:
        return {path: _folder(self._folders[path]) for path in paths}

    def headers(self, paths: Sequence[str]) -> list[bytes]:
        return [self._files[join(path, SKILL_FILE)].content[:MAX_HEADER_FILE] for path in paths]

    def read_one(self, path: str, limits: TreeLimits) -> SkillTree:
        prefix = f"{path}/" if path else ""
        files = {name[len(prefix) :]: file for name, file in self._files.items() if name.startswith(prefix)}
        refuse_large(len(files), sum(len(file.content) for file in files.values()), limits)
        return SkillTree(files)

    def read_file(self, path: str) -> bytes | None:
        file = self._files.get(path)
        return None if file is None else file.content


def _folder(names: set[str]) -> Folder:
    folders = tuple(sorted(name.removesuffix("/") for name in names if name.endswith("/")))
    return Folder(SKILL_FILE in names, other_spelling(names), folders)
