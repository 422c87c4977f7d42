"""skills.lock: which exact skills a project uses. What is read from it is somebody else's word."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from skillkit.core.digest import FileDigest, TreeDigest
from skillkit.core.disk import replace_file
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError, LockFileError
from skillkit.install.registry import InstalledSkill, installable
from skillkit.install.source import FULL_COMMIT, GitSource, parse_ref, parse_source, parse_subpath

LOCK_FILE = "skills.lock"
FORMAT = 1
MAX_LOCK = 4 * 1024 * 1024
MAX_SKILLS = 1000


@dataclass(frozen=True, slots=True)
class LockedSkill:
    """One skill, byte for byte."""

    name: str
    source: GitSource
    """Pinned to the commit."""
    commit: str
    branch: str | None
    tag: str | None
    digest: str
    files: Mapping[str, FileDigest] = field(hash=False)


def read_lock(path: Path) -> list[LockedSkill]:
    """The locked skills by name. Raises LockFileError for anything that is not a lock of ours."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_LOCK + 1)
    except FileNotFoundError:
        raise LockFileError(f"There is no {path}. Write one with `agent skill sync --write`.") from None
    except OSError as error:
        raise LockFileError(f"Cannot read {path}: {error.strerror}") from error
    if len(data) > MAX_LOCK:
        raise LockFileError(f"{path} is larger than {MAX_LOCK:,} bytes")
    try:
        content = json.loads(data)
        if content["version"] != FORMAT:
            raise LockFileError(
                f"{path} has the format {escape_hidden(str(content['version']))[:20]}; "
                f"this skillkit reads {FORMAT}"
            )
        entries = content["skills"]
        if len(entries) > MAX_SKILLS:
            raise LockFileError(f"{path} locks more than {MAX_SKILLS} skills")
        locked = [_locked(name, entry) for name, entry in sorted(entries.items())]
    except LockFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, InstallError) as error:
        raise LockFileError(
            f"{path} is not a lock file that can be used: {escape_hidden(str(error))[:200]}"
        ) from error
    if len({canonical_name(skill.name) for skill in locked}) != len(locked):
        raise LockFileError(f"{path} locks two skills of one name")
    return locked


def write_lock(path: Path, skills: Sequence[InstalledSkill]) -> None:
    """Lock `skills`. One that came from a folder cannot be restored elsewhere and is refused."""
    local = [skill.name for skill in skills if skill.git_url is None or skill.commit_sha is None]
    if local:
        raise LockFileError(
            f"Taken from a folder and so on no other machine: {', '.join(local)}. "
            "Add them from a repository, or name the skills to lock."
        )
    entries = {
        skill.name: {
            "source": skill.git_url,
            "path": skill.subpath,
            "commit": skill.commit_sha,
            "branch": skill.branch,
            "tag": skill.tag,
            "digest": skill.digest,
            "files": {
                name: {"sha256": file.sha256, "size": file.size, "executable": file.executable}
                for name, file in sorted(skill.files.items())
            },
        }
        for skill in sorted(skills, key=lambda skill: skill.name_canonical)
    }
    data = json.dumps({"version": FORMAT, "skills": entries}, indent=2) + "\n"
    replace_file(path, data.encode())


def _locked(name: str, entry: Mapping[str, Any]) -> LockedSkill:
    if not installable(name):
        raise LockFileError(f"'{escape_hidden(name)[:80]}' cannot be the name of a skill")
    commit = entry["commit"]
    if not isinstance(commit, str) or not FULL_COMMIT.fullmatch(commit):
        raise LockFileError(f"'{name}' is not locked to a full commit")
    source = parse_source(entry["source"])
    if not isinstance(source, GitSource) or source.ref is not None:
        raise LockFileError(f"'{name}' does not come from a repository")
    digests = {
        path: FileDigest(str(file["sha256"]), int(file["size"]), file["executable"] is True)
        for path, file in entry["files"].items()
    }
    tree = TreeDigest.of(digests)
    if tree.digest != entry["digest"]:
        raise LockFileError(f"The files of '{name}' do not add up to its digest")
    branch, tag = entry.get("branch"), entry.get("tag")
    return LockedSkill(
        name,
        GitSource(source.url, commit, parse_subpath(entry.get("path", ""))),
        commit,
        None if branch is None else parse_ref(branch),
        None if tag is None else parse_ref(tag),
        tree.digest,
        MappingProxyType(digests),
    )
