"""The files of a skill: taken from tree objects or from a folder, checked, and held in memory.

What is held in memory is what is shown, approved, hashed and written: nothing changes in between.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from skillkit.core.digest import MAX_BYTES, MAX_FILES, FileDigest, TreeDigest, open_tree
from skillkit.core.exceptions import SizeLimitExceededError, SkillSecurityError
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import GitError, InstallError, UnsafeTreeError
from skillkit.install.git import GitRemote
from skillkit.install.paths import check_paths, safe_name

SKILL_FILE = "SKILL.md"
MAX_TREES = 4096
_CHUNK = 1024 * 1024
MAX_TREE_BYTES = 16 * 1024 * 1024
_PLAIN = ("100644", "100755")
_KINDS = {"120000": "a symbolic link", "160000": "a submodule"}


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """How much a skill may hold."""

    max_files: int = MAX_FILES
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One file of a skill."""

    content: bytes = field(repr=False)
    executable: bool = False


@dataclass(frozen=True)
class SkillTree:
    """Every file of a skill by relative path, and their digest."""

    files: Mapping[str, TreeFile]
    digest: TreeDigest = field(init=False)

    def __post_init__(self) -> None:
        check_paths(self.files)
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))
        digests = {
            path: FileDigest(hashlib.sha256(file.content).hexdigest(), len(file.content), file.executable)
            for path, file in self.files.items()
        }
        object.__setattr__(self, "digest", TreeDigest.of(digests))

    @property
    def size(self) -> int:
        return sum(len(file.content) for file in self.files.values())

    @property
    def skill_file(self) -> bytes:
        return self.files[SKILL_FILE].content


def read_folder(folder: Path, limits: TreeLimits | None = None) -> SkillTree:
    """A folder on this machine as a SkillTree; its `.git` is not part of the skill."""
    limits = limits or TreeLimits()
    files: dict[str, TreeFile] = {}
    left = limits.max_bytes
    try:
        for path, descriptor in open_tree(folder, max_files=limits.max_files, skipped=frozenset({".git"})):
            for part in path.split("/"):
                safe_name(part.encode("utf-8", "surrogateescape"))
            status = os.fstat(descriptor)
            chunks: list[bytes] = []
            while chunk := os.read(descriptor, _CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise SizeLimitExceededError(f"{folder} has more than {limits.max_bytes:,} bytes")
                chunks.append(chunk)
            files[path] = TreeFile(b"".join(chunks), bool(status.st_mode & 0o111))
    except SizeLimitExceededError as error:
        raise UnsafeTreeError(f"{error}. {_MORE}") from error
    except SkillSecurityError as error:
        if isinstance(error, UnsafeTreeError):
            raise
        raise UnsafeTreeError(str(error)) from error
    return SkillTree(files)


_MORE = "Allow more with --max-files and --max-bytes if you expected that."


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    name: bytes
    oid: str

    @property
    def is_folder(self) -> bool:
        return self.mode in ("40000", "040000")


_Look = Callable[[str, Sequence[_Entry]], None]


class RepositoryTree:
    """The folders of one commit, read as objects and only as far as they are asked for."""

    def __init__(self, remote: GitRemote, commit: str) -> None:
        self._remote = remote
        self._commit = commit
        self._known: dict[str, list[_Entry]] = {}

    def skill_folders(self, start: str = "") -> list[str]:
        """Folders that hold a SKILL.md where people put skills, the most direct first."""
        top = self._at(start)
        found: list[str] = []

        def look(path: str, entries: Sequence[_Entry]) -> None:
            if path not in found and any(
                entry.name == SKILL_FILE.encode() and not entry.is_folder for entry in entries
            ):
                found.append(path)

        look(start, top)
        for inner in ("skill", ".claude", ".agents", "plugins", "skills"):
            below = self._below(top, inner)
            if below is None:
                continue
            path = _join(start, inner)
            if inner == "skill":
                look(path, below)
            elif inner == "skills":
                self._look_into(path, below, look)
            elif inner == "plugins":
                for plugin in self._folders(below):
                    skills = self._below(self._entries(plugin.oid), "skills")
                    if skills is not None:
                        self._look_into(_join(path, _text(plugin), "skills"), skills, look)
            elif (skills := self._below(below, "skills")) is not None:
                self._look_into(_join(path, "skills"), skills, look)
        self._look_into(start, top, look)
        return found

    def _look_into(self, path: str, entries: Sequence[_Entry], look: _Look) -> None:
        folders = self._folders(entries)
        self._load([folder.oid for folder in folders])
        for folder in folders:
            look(_join(path, _text(folder)), self._entries(folder.oid))

    def file_oid(self, folder: str, name: str) -> str:
        """The object of one file."""
        for entry in self._at(folder):
            if entry.name == name.encode() and entry.mode in _PLAIN:
                return entry.oid
        raise UnsafeTreeError(f"Refused: {escape_hidden(_join(folder, name))} is no plain file")

    def files(self, path: str, limits: TreeLimits) -> dict[str, tuple[str, bool]]:
        """Object id and executable bit of every file beneath `path`, all of them checked."""
        files: dict[str, tuple[str, bool]] = {}
        for name, entry in self._walk(self._at(path), ""):
            files[name] = (entry.oid, entry.mode == "100755")
            if len(files) > limits.max_files:
                raise UnsafeTreeError(f"The skill has more than {limits.max_files:,} files. {_MORE}")
        check_paths(files)
        return files

    def _walk(self, entries: Sequence[_Entry], prefix: str) -> Iterator[tuple[str, _Entry]]:
        names: set[bytes] = set()
        self._load([entry.oid for entry in entries if entry.is_folder])
        for entry in entries:
            path = prefix + safe_name(entry.name, prefix)
            if entry.name in names:
                raise UnsafeTreeError(f"Refused: '{escape_hidden(path)}' is in the tree twice")
            names.add(entry.name)
            if entry.is_folder:
                if prefix.count("/") > 16:
                    raise UnsafeTreeError(f"Refused: '{escape_hidden(path)}' is nested too deep")
                yield from self._walk(self._entries(entry.oid), f"{path}/")
            elif entry.mode in _PLAIN:
                yield path, entry
            else:
                kind = _KINDS.get(entry.mode, f"of the unknown kind {escape_hidden(entry.mode)}")
                raise UnsafeTreeError(
                    f"Refused: '{escape_hidden(path)}' is {kind}; "
                    "a skill may hold plain files and folders only"
                )

    def _at(self, path: str) -> list[_Entry]:
        entries = self._entries(self._commit)
        for part in path.split("/") if path else ():
            below = self._below(entries, part)
            if below is None:
                raise InstallError(
                    f"{self._remote.shown} has no folder '{escape_hidden(path)}' at {self._commit[:8]}"
                )
            entries = below
        return entries

    def _below(self, entries: Sequence[_Entry], name: str) -> list[_Entry] | None:
        for entry in entries:
            if entry.name == name.encode() and entry.is_folder:
                return self._entries(entry.oid)
        return None

    def _folders(self, entries: Sequence[_Entry]) -> list[_Entry]:
        """Folders whose names can be shown and typed; what is inside is checked when wanted."""
        return [
            entry
            for entry in entries
            if entry.is_folder and entry.name.isascii() and entry.name.decode().isprintable()
        ]

    def _entries(self, oid: str) -> list[_Entry]:
        if oid not in self._known:
            self._load([oid])
        return self._known[oid]

    def _load(self, oids: Sequence[str]) -> None:
        """Read many folders with two runs of git."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._known]
        if len(wanted) + len(self._known) > MAX_TREES:
            raise UnsafeTreeError(f"More than {MAX_TREES:,} folders to look into. Give --path.")
        if not wanted:
            return
        names = [f"{oid}^{{tree}}" for oid in wanted]
        sizes = self._remote.sizes(names)
        for oid, size in zip(wanted, sizes, strict=True):
            if size is None:
                raise GitError(f"{self._remote.shown} did not send the folder {oid}. Try again.")
        total = sum(size[1] for size in sizes if size is not None)
        if total > MAX_TREE_BYTES:
            raise UnsafeTreeError(f"Folders of the repository hold {total:,} bytes of names")
        for oid, data in zip(wanted, self._remote.read(names, limit=total), strict=True):
            self._known[oid] = _parsed(data)


def read_skills(
    remote: GitRemote, tree: RepositoryTree, paths: Sequence[str], limits: TreeLimits | None = None
) -> list[SkillTree]:
    """Skills of a fetched commit, complete and checked; only their files are transferred."""
    limits = limits or TreeLimits()
    listed = [tree.files(path, limits) for path in paths]
    everything = [oid for files in listed for oid, _ in files.values()]
    # Packed contents are never much larger than the files, so this stops a bomb early.
    remote.fetch_blobs(everything, max_pack=len(paths) * limits.max_bytes + 4 * 1024 * 1024)
    return [_read_files(remote, files, limits) for files in listed]


def _read_files(remote: GitRemote, files: Mapping[str, tuple[str, bool]], limits: TreeLimits) -> SkillTree:
    oids = [oid for oid, _ in files.values()]
    total = sum(size[1] for size in remote.sizes(oids) if size is not None)
    if total > limits.max_bytes:
        raise UnsafeTreeError(f"The skill has {total:,} bytes; the limit is {limits.max_bytes:,}. {_MORE}")
    contents = remote.read(oids, limit=total)
    return SkillTree(
        {
            name: TreeFile(content, executable)
            for (name, (_, executable)), content in zip(files.items(), contents, strict=True)
        }
    )


def _parsed(data: bytes) -> list[_Entry]:
    entries: list[_Entry] = []
    position = 0
    while position < len(data):
        space = data.index(b" ", position)
        end = data.index(b"\0", space)
        oid = data[end + 1 : end + 21]
        entries.append(_Entry(data[position:space].decode("ascii"), data[space + 1 : end], oid.hex()))
        position = end + 21
    return entries


def _text(entry: _Entry) -> str:
    return entry.name.decode("ascii")


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)
