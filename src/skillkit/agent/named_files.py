"""Files that a user names in a request: `@file`, or an existing path."""

import os
import re
from pathlib import Path

MAX_FILES = 20
_WORD = re.compile(r"@?\"([^\"\n]+)\"|@?'([^'\n]+)'|(\S+)")


def find_named_files(text: str, folder: Path) -> list[Path]:
    """Return the files that `text` names, relative to `folder`; it must be the user's own words."""
    found: dict[Path, None] = {}
    for word in _WORD.finditer(text):
        name = word[1] or word[2] or word[3].rstrip(",;:!?)")
        marked = word[0].startswith("@")
        name = name.removeprefix("@")
        if not marked and "/" not in name and "." not in name:
            continue  # a word that happens to be a file name
        path = Path(os.path.expanduser(name.removesuffix(".") if not (folder / name).exists() else name))
        path = folder / path
        try:
            if path.is_file() and len(found) < MAX_FILES:
                found[path.absolute()] = None
        except (OSError, ValueError):
            continue
    return list(found)
