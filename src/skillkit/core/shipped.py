"""The skills that ship with skillkit, trusted by content and not by location."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from skillkit.core.digest import TreeDigest
from skillkit.core.digest_memo import tree_digests
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.sources import BUNDLED

DIGESTS = BUNDLED / "digests.json"
"""Written by `python3 dev.py reference`."""


def is_as_shipped(skill: SkillMetadata) -> bool:
    """Whether this is a bundled skill with exactly the packed bytes."""
    if skill.source is not SourceType.BUNDLED:
        return False
    try:
        return shipped_digest(skill.base_dir) == _recorded().get(skill.base_dir.name)
    except SkillsUseError:
        return False


def shipped_digest(folder: Path) -> str:
    """Return the digest of the packed files, without bytecode and file modes, which installing changes."""
    packed = {
        path: replace(file, executable=False)
        for path, file in tree_digests.plain(folder).files.items()
        if "__pycache__" not in path.split("/")
    }
    return TreeDigest.of(packed).digest


@cache
def _recorded() -> dict[str, str]:
    recorded: dict[str, str] = json.loads(DIGESTS.read_bytes())
    return recorded
