"""Read logs that another program may be writing."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from skillkit.core.foreign_json import parse_json

MAX_LINE = 4 << 20
"""A longer line is an attachment, not a mention of a skill."""


def read_entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file; skip invalid lines, such as an incomplete last one."""
    try:
        with open(path, "rb") as file:
            while line := file.readline(MAX_LINE):
                with suppress(ValueError):
                    entry = parse_json(line)
                    if isinstance(entry, dict):
                        yield entry
    except OSError:
        return


def time_of(entry: dict[str, Any]) -> float:
    """Return when an entry was written; 0 if unknown."""
    try:
        return datetime.fromisoformat(str(entry.get("timestamp"))).timestamp()
    except ValueError:
        return 0.0


def texts_in(content: object) -> Iterator[str]:
    """Yield the texts of a message's content, in any of its forms."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]
