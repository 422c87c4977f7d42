"""Files of a skill that can be changed from outside its folder: hard links and mounts."""

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from skillkit.core.disk import real_path

_MOUNTS = "/proc/self/mountinfo"
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def shared_files(base: Path, paths: Iterable[str]) -> list[str]:
    """Return the `paths` beneath `base` that are hard links, or lie on a mount of their own."""
    mounts = mounts_beneath(base)
    found = []
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):  # it vanished while we looked
            if is_shared(base, path, os.lstat(base / path), mounts):
                found.append(path)
    return found


def is_shared(
    base: Path, path: str, status: os.stat_result, mounts: "frozenset[bytes] | None" = None
) -> bool:
    """Whether the file at `path` beneath `base` is a hard link, or lies on a mount of its own."""
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        return True
    mounts = mounts_beneath(base) if mounts is None else mounts
    if not mounts:
        return False
    plain = os.fsencode(os.path.normpath(path)) + b"/"
    return any(plain.startswith(mount + b"/") for mount in mounts)


def mounts_beneath(base: Path) -> frozenset[bytes]:
    """List the mount points beneath `base` from the mount table, since a bind mount has the same device."""
    root = os.fsencode(real_path(base)) + b"/"
    try:
        with open(_MOUNTS, "rb") as file:
            points = [line.split(b" ", 5)[4] for line in file]
    except OSError:
        return frozenset()  # not Linux
    plain = (_ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), point) for point in points)
    return frozenset(point[len(root) :] for point in plain if point.startswith(root))
