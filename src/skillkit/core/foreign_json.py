"""Third-party JSON: every defect is a ValueError, and reading a file never blocks."""

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from skillkit.core.limits import JSON_BYTES, JSON_DEPTH


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse one document; `options` are those of `json.loads`."""
    try:
        value = json.loads(text, **options)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    opening = ("[", "{") if isinstance(text, str) else (b"[", b"{")
    if sum(map(text.count, opening)) > JSON_DEPTH and _deeper_than(value, JSON_DEPTH):  # type: ignore[arg-type]
        raise ValueError("nested too deeply")
    return value


def read_json(path: Path) -> Any:
    """Parse a file; raises OSError for one that cannot be read or is not a regular file."""
    return parse_json(read_plain(path))


def read_plain(path: Path, limit: int = JSON_BYTES) -> bytes:
    """Read a regular file; OSError for a FIFO, a device or a folder, ValueError for too many bytes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a plain file", os.fspath(path))
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"larger than {limit:,} bytes")
    return data


def _deeper_than(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        below: list[object] = []
        for item in level:
            below.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        if not below:
            return False
        level = below
    return True
