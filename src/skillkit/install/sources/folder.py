"""A folder on this machine, taken as it is."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from skillkit.core.disk import real_path
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.file_sharing import shared_files
from skillkit.core.path_resolver import open_beneath
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError, SourceError, UnsafeTreeError
from skillkit.install.sources.layout import SKILL_FILE, Folder, Listing, find_skills, other_spelling
from skillkit.install.sources.source import Access, OpenPerSkill, Source
from skillkit.install.tree import MAX_HEADER_FILE, SkillTree, TreeLimits, read_folder


@dataclass(frozen=True, slots=True)
class FolderSource(Source):
    """A folder, and where in it to look."""

    kind: ClassVar[str] = "folder"
    form: ClassVar[str] = "./folder"

    folder: Path
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> "FolderSource | None":
        if not text.startswith(("/", "./", "../", "~/")) and text not in (".", "..", "~"):
            return None
        folder = Path(os.path.expanduser(text))
        if not folder.is_dir():
            raise SourceError(f"There is no folder '{escape_hidden(text)}'")
        return cls(folder.absolute())

    @property
    def location(self) -> str:
        return str(self.folder)

    @property
    def portable(self) -> bool:
        return False

    @property
    def follows(self) -> str:
        return "the folder as it is"

    def at(self, version: str) -> "FolderSource":
        raise SourceError(
            f"A folder has no branches: '{self}' cannot be used at '{escape_hidden(version)}'. "
            f"For a repository on this machine write file://{real_path(self.folder)}"
        )

    def __str__(self) -> str:
        return escape_hidden(str(self.folder / self.path))

    @contextmanager
    def open(self, access: Access) -> Iterator["OpenFolder"]:
        if not self.folder.is_dir():
            raise SourceError(f"The folder '{escape_hidden(str(self.folder))}' no longer exists")
        access.progress(f"Reading {self}")
        yield OpenFolder(self)


class OpenFolder(OpenPerSkill):
    """A folder that is being read."""

    def __init__(self, source: FolderSource) -> None:
        self.followed = source
        self.revision = None
        self._root = source.folder

    def listing(self, start: str = "") -> Listing:
        if not (self._root / start).is_dir():
            raise InstallError(f"{self.followed.location} has no folder '{escape_hidden(start)}'")
        return find_skills(self._look, start)

    def _look(self, paths: Iterable[str]) -> dict[str, Folder]:
        return {path: _folder(self._root / path) for path in paths}

    def headers(self, paths: Sequence[str]) -> list[bytes]:
        found = []
        for path in paths:
            # An unreadable one has no header; reading it whole raises the reason.
            header = self.read_file(f"{path}/{SKILL_FILE}".lstrip("/")) or b""
            found.append(header[:MAX_HEADER_FILE])
        return found

    def read_file(self, path: str) -> bytes | None:
        try:
            with open_beneath(self._root, path) as descriptor:
                return os.read(descriptor, 4 * MAX_HEADER_FILE)
        except (OSError, SkillsUseError):
            return None

    def read_one(self, path: str, limits: TreeLimits) -> SkillTree:
        folder = self._root / path
        if not folder.is_dir():
            raise InstallError(f"{self.followed.location} no longer has a folder '{escape_hidden(path)}'")
        tree = read_folder(folder, limits)
        if linked := shared_files(folder, list(tree.files)):
            raise UnsafeTreeError(
                f"Refused: '{escape_hidden(linked[0])}' in {folder} is a hard link or "
                "lies on another mount: it can be changed from elsewhere. Copy the folder first."
            )
        return tree


def _folder(path: Path) -> Folder:
    has_skill, odd, names, unnamed = False, "", [], 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if _plain(entry.name):
                        names.append(entry.name)
                    else:
                        unnamed += 1
                elif entry.name == SKILL_FILE:
                    has_skill = entry.is_file(follow_symlinks=False)
                    odd = "" if has_skill else "a link or not a plain file"
                elif not has_skill:
                    odd = odd or other_spelling([entry.name])
    except OSError:
        odd = "in an unreadable folder"
    return Folder(has_skill, odd, tuple(sorted(names)), unnamed)


def _plain(name: str) -> bool:
    """Return whether a folder's name can be shown and typed."""
    return name.isascii() and name.isprintable()
