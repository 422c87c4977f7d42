"""The store: every version of every installed skill, addressed by its content, never changed.

    AGENT_HOME/store/<digest>/<name>/      the files
    AGENT_HOME/store/<digest>/<name>.json  where they came from, to rebuild a lost registry
    AGENT_HOME/skills/<name>               a link to the version in use, for discovery

Nothing in the store is used until registry.json lists it; that file is the only commit point.
"""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit.core.digest import FileDigest, TreeDigest, tree_digest
from skillkit.core.disk import (
    clear_temporary,
    make_folder,
    real_path,
    remove_tree,
    replace_file,
    replace_link,
    sync_folder,
    write_new,
)
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.foreign_json import read_json
from skillkit.install.changes import FileChange, file_changes
from skillkit.install.exceptions import DISK_FULL, DiskError, DriftError

if TYPE_CHECKING:
    from skillkit.install.tree import SkillTree

_TEMPORARY = "tmp-"
_UNBOUNDED = 1 << 40
LOW_SPACE = 100 * 1024 * 1024
_SPARE_SPACE = 4 * 1024 * 1024


_OWN_FOLDER = re.compile(r"[0-9a-f]{64}")


class SkillStore:
    """Writes, checks, links and collects versions. Writers hold the registry's lock."""

    def __init__(self, home: Path) -> None:
        self.root = home / "store"
        self.links = home / "skills"
        self._real = lru_cache(8)(real_path)

    def path(self, stored: str) -> Path:
        """Return the folder of a version; `stored` is the result of `put`."""
        return self.root / stored

    # Versions

    def put(self, tree: "SkillTree", name: str, record: Mapping[str, Any]) -> str:
        """Write `tree` unless the store has it; return its path relative to the store.

        An edited copy is kept; the approved bytes are written beside it.
        """
        self._require_space(tree.size)
        digest = tree.digest.digest.removeprefix("sha256:")
        make_folder(self.root / digest)
        for stored in _places(digest, name):
            path = self.path(stored)
            if not os.path.lexists(path):
                self._write(tree, path)
            elif self.digest(path) != tree.digest:
                continue
            self._record(path, {**record, "stored": stored})
            return stored
        raise DriftError(f"Too many edited copies in {self.root / digest}; delete some")

    def _write(self, tree: "SkillTree", path: Path) -> None:
        staging = self._temporary()
        try:
            self._fill(tree, staging)
            os.rename(staging, path)
        except OSError:
            remove_tree(staging)
            raise
        sync_folder(path.parent)

    def _fill(self, tree: "SkillTree", staging: Path) -> None:
        make_folder(staging)
        folders = {staging}
        for name, file in tree.files.items():
            target = staging / name
            make_folder(target.parent)
            parent = target.parent
            while parent != self.root:
                folders.add(parent)
                parent = parent.parent
            write_new(target, file.content, 0o555 if file.executable else 0o444)
        for folder in sorted(folders, reverse=True):
            sync_folder(folder)

    def _record(self, path: Path, record: Mapping[str, Any]) -> None:
        data = json.dumps(dict(record), indent=1, sort_keys=True).encode()
        replace_file(path.with_name(f"{path.name}.json"), data, 0o600)

    def all_records(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield every version in the store that has a record, with the record."""
        for path in self._versions():
            with suppress(OSError, ValueError):
                record = read_json(path.with_name(f"{path.name}.json"))
                if isinstance(record, dict) and path.is_dir():
                    yield path, record

    def discard(self, path: Path) -> None:
        """Delete a version atomically."""
        if os.path.lexists(path):
            aside = self._temporary()
            os.rename(path, aside)
            sync_folder(path.parent)
            remove_tree(aside)
        with suppress(FileNotFoundError):
            os.unlink(path.with_name(f"{path.name}.json"))

    def _temporary(self) -> Path:
        return self.root / f"{_TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"

    def _require_space(self, size: int) -> None:
        free = self.free_space()
        if free < size + _SPARE_SPACE:
            raise DiskError(
                f"Not enough space in {self.root}: {free:,} bytes free, {size + _SPARE_SPACE:,} needed",
                code=DISK_FULL,
            )

    def free_space(self) -> int:
        """Return the free space in bytes."""
        folder = self.root
        while not folder.is_dir():
            folder = folder.parent
        status = os.statvfs(folder)
        return status.f_bavail * status.f_frsize

    # Checking

    def digest(self, path: Path) -> TreeDigest | None:
        """Return the current digest of `path`; None if it cannot be read as a skill."""
        try:
            return tree_digest(path, max_files=_UNBOUNDED, max_bytes=_UNBOUNDED)
        except SkillsUseError:
            return None

    def edits(self, stored: str, files: Mapping[str, FileDigest]) -> list[FileChange]:
        """Return the differences from the approved version."""
        now = self.digest(self.path(stored))
        if now is None:
            return [FileChange("unreadable", str(self.path(stored)))]
        return list(file_changes(files, now.files))

    # Links

    def link(self, name: str) -> Path:
        return self.links / name

    def linked(self, name: str) -> Path | None:
        """Return the version that `skills/<name>` links to; None if it is not a link into the store."""
        try:
            target = os.readlink(self.link(name))
        except OSError:
            return None
        path = os.path.normpath(os.path.join(self._real(self.links), target))
        return (
            Path(path) if os.path.dirname(os.path.dirname(path)) == os.fspath(self._real(self.root)) else None
        )

    def occupied(self, name: str) -> bool:
        """Return whether a foreign file or folder occupies the path of a link."""
        return os.path.lexists(self.link(name)) and self.linked(name) is None

    def all_linked(self) -> dict[str, Path]:
        """Return every link into the store, by name."""
        try:
            names = sorted(os.listdir(self.links))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        found = {name: self.linked(name) for name in names if not name.startswith(".")}
        return {name: path for name, path in found.items() if path is not None}

    def stale_links(self, wanted: Mapping[str, str]) -> bool:
        """Return whether the links differ from `wanted` (name → where it is stored)."""
        root = self._real(self.root)
        expected = {name: Path(root, stored) for name, stored in wanted.items()}
        return self.all_linked() != expected

    def relink(self, wanted: Mapping[str, str]) -> None:
        """Update the links to match the registry; keep foreign files."""
        if not wanted and not self.links.is_dir():
            return
        make_folder(self.links)
        root, links = self._real(self.root), self._real(self.links)
        for name, stored in wanted.items():
            path = os.path.join(root, stored)
            if not self.occupied(name) and self.linked(name) != Path(path):
                replace_link(self.link(name), os.path.relpath(path, links))
        for name in self.all_linked().keys() - wanted.keys():
            os.unlink(self.link(name))
        clear_temporary(self.links)
        sync_folder(self.links)

    # Collecting

    def collect(self, kept: Collection[str]) -> None:
        """Delete temporary files of a crash and every version that is not kept."""
        paths = {self.path(stored) for stored in kept}
        for path in list(self._versions()):
            if path not in paths:
                self.discard(path)
        for folder in self._entries():
            if folder.name.startswith(_TEMPORARY):
                remove_tree(folder)
            elif _OWN_FOLDER.fullmatch(folder.name):  # foreign files stay
                with suppress(OSError):
                    os.rmdir(folder)

    def _versions(self) -> Iterator[Path]:
        for folder in self._entries():
            if folder.is_dir() and _OWN_FOLDER.fullmatch(folder.name):
                for name in sorted(os.listdir(folder)):
                    if not name.endswith(".json") or (folder / name).is_dir():
                        yield folder / name
                    elif not (folder / name.removesuffix(".json")).exists():
                        yield folder / name.removesuffix(".json")

    def _entries(self) -> list[Path]:
        try:
            return [self.root / name for name in sorted(os.listdir(self.root))]
        except (FileNotFoundError, NotADirectoryError):
            return []


def _places(digest: str, name: str) -> Iterator[str]:
    yield f"{digest}/{name}"
    for number in range(2, 100):
        yield f"{digest}/{name}.{number}"
