"""Where in its skill the modules lie that a Python script imports and that are not beside it."""

import re
import sys
from pathlib import Path

_IMPORTS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_USUAL = ("scripts", "lib", "src")


def own_places(script: str) -> list[str]:
    """Folders of a skill in which modules of a script may lie: its own, those above, the usual ones."""
    parts = script.split("/")[:-1]
    above = ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]
    return [*dict.fromkeys((*above, *_USUAL))]


def own_folders(tree: Path, script: str, content: bytes) -> tuple[str, ...]:
    """The folders that have to be on the path of a script, besides its own; the skill's own is empty."""
    names = {found.decode() for found in _IMPORTS.findall(content)} - sys.stdlib_module_names
    beside, *others = own_places(script)
    found = []
    for name in sorted(names):
        if not _has_module(tree / beside, name):
            found += [place for place in others if _has_module(tree / place, name)][:1]
    return tuple(dict.fromkeys(found))


def _has_module(folder: Path, name: str) -> bool:
    package = folder / name
    return (folder / f"{name}.py").is_file() or (
        package.is_dir() and any(next(package.glob(where), None) for where in ("*.py", "*/*.py"))
    )
