"""Cache of digests: this tree had this digest when it had this stamp."""

import hashlib
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from skillkit.core.digest import FileDigest, TreeDigest, file_digest, read_tree, tree_digest
from skillkit.core.exceptions import ContentLoadError, SizeLimitExceededError, SkillsUseError
from skillkit.core.limits import TREE_BYTES, TREE_DEPTH, TREE_ENTRIES, TREE_FILES

_MAX_TREES = 2048
_SETTLED_NS = 1_000_000_000
"""Time after which a change has another timestamp than the one before it, and a started write has ended."""


@dataclass(frozen=True, slots=True)
class _Stamp:
    """The stat of everything in a tree."""

    entries: tuple[tuple[str, int, int, int, int, int], ...]
    links: tuple[str, ...]
    changed: int
    """Time of the newest change in the tree, in nanoseconds."""

    @property
    def settled(self) -> bool:
        """Whether a change from now on cannot leave the stamp as it is."""
        return time.time_ns() - self.changed > _SETTLED_NS


@dataclass(slots=True)
class Pin:
    """The tree that a decision was made on."""

    folder: str
    tree: TreeDigest | None = None
    """None until the digest is asked for."""

    def sha256(self, path: str) -> str | None:
        """What the file at `path` must be: None where nothing depends on it, "" where there is none."""
        if self.tree is None:
            return None
        file = self.tree.files.get(path)
        return file.sha256 if file is not None else ""


_pin: ContextVar[Pin | None] = ContextVar("skillkit_pinned_tree", default=None)


class DigestMemo:
    """Digests of folders, each valid as long as the stat of everything in the folder is unchanged."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, bool], tuple[_Stamp, TreeDigest | SkillsUseError]] = OrderedDict()
        self._lock = Lock()

    def plain(self, folder: Path) -> TreeDigest:
        """Return the digest of a tree of plain files; raise SkillsUseError if it has none."""
        pin = _pin.get()
        if pin is None or pin.folder != os.fspath(folder):
            return self._digest(folder, False)
        pin.tree = pin.tree or self._digest(folder, False)
        return pin.tree

    @contextmanager
    def pin(self, folder: Path) -> Iterator["Pin"]:
        """Return the same digest of `folder` for the whole block."""
        pin = Pin(os.fspath(folder))
        token = _pin.set(pin)
        try:
            yield pin
        finally:
            _pin.reset(token)

    def with_links(self, folder: Path) -> TreeDigest:
        """Return the digest of a tree that may hold symbolic links; raise SkillsUseError if it has none.

        With links in it the digest is of another kind: each link counts as its text, is never followed,
        and the whole cannot be taken for a tree that was approved.
        """
        return self._digest(folder, True)

    def _digest(self, folder: Path, links: bool) -> TreeDigest:
        stamp = _stamp(folder)
        settled = stamp.settled  # before anything is read: a file being written then may be read half
        key = (os.fspath(folder), links and bool(stamp.links))
        with self._lock:
            known = self._known.get(key)
            if known is not None and known[0] == stamp:
                self._known.move_to_end(key)
                return _value(known[1])
        result: TreeDigest | SkillsUseError
        try:
            result = (
                _digest_with_links(folder, stamp.links)
                if key[1]
                else tree_digest(folder, max_files=TREE_FILES, max_bytes=TREE_BYTES)
            )
        except SkillsUseError as error:
            result = error
        # The stamp is older than the digest: what changed in between has another stamp by now.
        if settled:
            with self._lock:
                self._known[key] = (stamp, result)
                while len(self._known) > _MAX_TREES:
                    self._known.popitem(last=False)
        return _value(result)


tree_digests = DigestMemo()
"""One for the whole process: its content depends on the files alone."""


def _value(result: TreeDigest | SkillsUseError) -> TreeDigest:
    if isinstance(result, SkillsUseError):
        raise result.with_traceback(None)
    return result


def _digest_with_links(folder: Path, links: tuple[str, ...]) -> TreeDigest:
    plain = read_tree(folder, max_files=TREE_FILES, max_bytes=TREE_BYTES, skipped=frozenset(links))
    files = {path: file_digest(chunks, False) for path, _, chunks in plain}
    for path in links:
        try:
            target = os.fsencode(os.readlink(folder / path))
        except OSError as error:
            raise ContentLoadError(f"{folder} changed while it was read: {error.strerror}") from error
        files[path] = FileDigest(hashlib.sha256(b"link " + target).hexdigest(), 0, False)
    whole = TreeDigest.of(files)
    return TreeDigest(f"with-links:{whole.digest}", whole.files)


def _stamp(folder: Path) -> _Stamp:
    entries: list[tuple[str, int, int, int, int, int]] = []
    links: list[str] = []
    count = size = changed = 0
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for name, status in _listed(folder, prefix):
            mode = status.st_mode
            changed = max(changed, status.st_ctime_ns)
            entries.append(
                (
                    prefix + name,
                    mode,
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_ino,
                )
            )
            if stat.S_ISDIR(mode):
                if prefix.count("/") >= TREE_DEPTH:
                    raise SizeLimitExceededError(f"{folder} has folders more than {TREE_DEPTH} deep")
                waiting.append(f"{prefix}{name}/")
            else:
                count += 1
                size += status.st_size
            if stat.S_ISLNK(mode):
                links.append(prefix + name)
            if count > TREE_FILES or size > TREE_BYTES or len(entries) > TREE_ENTRIES:
                raise SizeLimitExceededError(
                    f"{folder} is too large to check: more than {TREE_FILES:,} files, "
                    f"{TREE_BYTES:,} bytes or {TREE_ENTRIES:,} entries"
                )
    return _Stamp(tuple(entries), tuple(links), changed)


def _listed(folder: Path, prefix: str) -> list[tuple[str, os.stat_result]]:
    try:
        with os.scandir(os.path.join(folder, prefix)) as entries:
            return sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
    except OSError as error:
        raise ContentLoadError(f"Cannot read the folder {folder}/{prefix}: {error.strerror}") from error
