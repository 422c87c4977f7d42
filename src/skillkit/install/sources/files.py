"""A source whose files are in memory: an unpacked archive, what a site handed out."""

from collections.abc import Iterable, Mapping, Sequence

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError
from skillkit.install.sources.layout import SKILL_FILE, Folder, Listing, find_skills, join, other_spelling
from skillkit.install.sources.source import OpenOneByOne, Source
from skillkit.install.tree import MAX_HEADER_FILE, SkillTree, TreeFile, TreeLimits, refuse_large


class OpenFiles(OpenOneByOne):
    """Files by path, at one revision."""

    def __init__(
        self,
        followed: Source,
        files: Mapping[str, TreeFile],
        revision: str | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.followed = followed
        self.revision = revision
        self.notes = notes
        self._files = files
        self._folders: dict[str, set[str]] = {"": set()}
        self._odd: dict[str, str] = {}
        for path in files:
            parts = path.split("/")
            if odd := other_spelling(parts[-1:]):
                self._odd["/".join(parts[:-1])] = odd
            for depth in range(1, len(parts)):
                parent = "/".join(parts[: depth - 1])
                self._folders.setdefault(parent, set()).add(parts[depth - 1])
                self._folders.setdefault("/".join(parts[:depth]), set())

    def listing(self, start: str = "") -> Listing:
        if start not in self._folders:
            raise InstallError(f"{self.followed.location} has no folder '{escape_hidden(start)}'")
        return find_skills(self._look, start)

    def _look(self, paths: Iterable[str]) -> dict[str, Folder]:
        return {
            path: Folder(
                join(path, SKILL_FILE) in self._files,
                self._odd.get(path, ""),
                tuple(sorted(self._folders[path])),
            )
            for path in paths
        }

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
