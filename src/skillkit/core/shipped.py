"""The skills that ship with skillkit: trusted for their bytes, not for the place where they lie."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from skillkit.core.digest import TreeDigest, tree_digest, tree_stamp
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.sources import BUNDLED

DIGESTS = BUNDLED / "digests.json"
"""Written by `python3 dev.py reference`."""

_judged: dict[Path, tuple[object, bool]] = {}


def is_as_shipped(skill: SkillMetadata) -> bool:
    """Whether this is a bundled skill, and every byte of it the one that was packed."""
    if skill.source is not SourceType.BUNDLED:
        return False
    folder = skill.base_dir
    stamp = tree_stamp(folder)
    known = _judged.get(folder)
    if known is not None and stamp is not None and known[0] == stamp:
        return known[1]
    try:
        as_shipped = shipped_digest(folder) == _recorded().get(folder.name)
    except SkillsUseError:
        as_shipped = False
    _judged[folder] = (stamp, as_shipped)
    return as_shipped


def shipped_digest(folder: Path) -> str:
    """The digest of what was packed: without bytecode and file modes, which installing changes."""
    packed = {
        path: replace(file, executable=False)
        for path, file in tree_digest(folder).files.items()
        if "__pycache__" not in path.split("/")
    }
    return TreeDigest.of(packed).digest


@cache
def _recorded() -> dict[str, str]:
    recorded: dict[str, str] = json.loads(DIGESTS.read_bytes())
    return recorded
