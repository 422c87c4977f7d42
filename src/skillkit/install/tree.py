"""The files of a skill: checked, and held in memory.

The bytes in memory are the ones shown, approved, hashed and written: nothing changes in between.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from skillkit.core.digest import FileDigest, TreeDigest, read_tree
from skillkit.core.exceptions import ContentLoadError, SizeLimitExceededError, SkillSecurityError
from skillkit.core.limits import SKILL_BYTES, SKILL_FILES
from skillkit.install.exceptions import InstallError, Remedy, UnsafeTreeError
from skillkit.install.paths import check_paths, safe_name

SKILL_FILE = "SKILL.md"
MAX_HEADER_FILE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Maximum files and bytes of a skill."""

    max_files: int = SKILL_FILES
    max_bytes: int = SKILL_BYTES


def refuse_large(files: int, size: int, limits: TreeLimits) -> None:
    """Raise UnsafeTreeError if a skill has too many files or bytes."""
    if files > limits.max_files or size > limits.max_bytes:
        raise UnsafeTreeError(
            f"The skill has {files:,} files and {size:,} bytes; the limits are "
            f"{limits.max_files:,} and {limits.max_bytes:,}",
            remedy=Remedy.ALLOW_MORE,
        )


ANY_SIZE = TreeLimits(max_files=1 << 40, max_bytes=1 << 40)


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
    def contents(self) -> dict[str, bytes]:
        return {path: file.content for path, file in self.files.items()}

    @property
    def size(self) -> int:
        return sum(len(file.content) for file in self.files.values())

    @property
    def skill_file(self) -> bytes:
        return self.files[SKILL_FILE].content


def write_tree(tree: SkillTree, folder: Path) -> None:
    """Write every file below a new, temporary folder."""
    for path, file in tree.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(0o755 if file.executable else 0o644)


def read_folder(folder: Path, limits: TreeLimits | None = None) -> SkillTree:
    """Read a folder on this machine as a SkillTree; its `.git` is not part of the skill."""
    limits = limits or TreeLimits()
    files: dict[str, TreeFile] = {}
    found = read_tree(
        folder, max_files=limits.max_files, max_bytes=limits.max_bytes, skipped=frozenset({".git"})
    )
    try:
        for path, executable, chunks in found:
            for part in path.split("/"):
                safe_name(part.encode("utf-8", "surrogateescape"))
            files[path] = TreeFile(b"".join(chunks), executable)
    except SizeLimitExceededError as error:
        raise UnsafeTreeError(str(error), remedy=Remedy.ALLOW_MORE) from error
    except ContentLoadError as error:
        raise InstallError(str(error)) from error
    except SkillSecurityError as error:
        if isinstance(error, UnsafeTreeError):
            raise
        raise UnsafeTreeError(str(error)) from error
    return SkillTree(files)
