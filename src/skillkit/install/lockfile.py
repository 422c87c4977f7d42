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
from skillkit.install.exceptions import InstallError, LockFileError, Remedy, SourceError
from skillkit.install.paths import installable
from skillkit.install.record import InstalledSkill
from skillkit.install.sources.kinds import parse_source, source_from_data, source_of_record, source_to_data
from skillkit.install.sources.source import Source

LOCK_FILE = "skills.lock"
FORMAT = 2
MAX_LOCK = 4 * 1024 * 1024
MAX_SKILLS = 1000


@dataclass(frozen=True, slots=True)
class LockedSkill:
    """One skill, byte for byte."""

    name: str
    source: Source
    """What an update follows."""
    revision: str | None
    """What the source was then, exactly."""
    digest: str
    files: Mapping[str, FileDigest] = field(hash=False)


def read_lock(path: Path) -> list[LockedSkill]:
    """The locked skills by name. Raises LockFileError for anything that is not a lock of ours."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_LOCK + 1)
    except FileNotFoundError:
        raise LockFileError(f"There is no {path}", remedy=Remedy.WRITE_LOCK) from None
    except OSError as error:
        raise LockFileError(f"Cannot read {path}: {error.strerror}") from error
    if len(data) > MAX_LOCK:
        raise LockFileError(f"{path} is larger than {MAX_LOCK:,} bytes")
    try:
        content = json.loads(data, object_pairs_hook=_without_doubles)
        if content["version"] not in (1, FORMAT):
            raise LockFileError(
                f"{path} has the format {escape_hidden(str(content['version']))[:20]}; "
                f"this skillkit reads up to {FORMAT}"
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


def _is_fixed(skill: InstalledSkill) -> bool:
    """Whether the source can be asked for exactly these bytes again."""
    try:
        skill.source.fixed(skill.revision)
    except SourceError:
        return False
    return True


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of two entries of one name it would be the last that counts, unseen."""
    found = dict(pairs)
    if len(found) != len(pairs):
        doubles = sorted({key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1})
        raise ValueError(f"it says {', '.join(doubles[:3])} twice")
    return found


def write_lock(path: Path, skills: Sequence[InstalledSkill]) -> None:
    """Lock `skills`. One that came from a folder cannot be restored elsewhere and is refused."""
    local = [skill.name for skill in skills if not skill.source.portable]
    edited = [skill.name for skill in skills if skill.source.portable and not _is_fixed(skill)]
    if edited:
        raise LockFileError(f"With edits that are in no repository: {', '.join(edited)}. Update them first.")
    if local:
        raise LockFileError(
            f"Taken from a folder and so on no other machine: {', '.join(local)}. "
            "Add them from a repository, or name the skills to lock."
        )
    entries = {
        skill.name: {
            "source": source_to_data(skill.source),
            "revision": skill.revision,
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
    source, revision = _source(name, entry)
    digests = {
        path: FileDigest(str(file["sha256"]), int(file["size"]), file["executable"] is True)
        for path, file in entry["files"].items()
    }
    tree = TreeDigest.of(digests)
    if tree.digest != entry["digest"]:
        raise LockFileError(f"The files of '{name}' do not add up to its digest")
    return LockedSkill(name, source, revision, tree.digest, MappingProxyType(digests))


def _source(name: str, entry: Mapping[str, Any]) -> tuple[Source, str | None]:
    """Where a locked skill is from; in the first format a text beside commit, branch and tag."""
    if isinstance(entry["source"], str):
        fields = {"git_url": entry["source"], "subpath": entry.get("path", "")}
        fields |= {key: entry.get(key) for key in ("branch", "tag")}
        source: Source = source_of_record({**fields, "commit_sha": entry["commit"]})
        revision = entry["commit"]
    else:
        source, revision = source_from_data(entry["source"]), entry["revision"]
    # What a lock names is somebody else's word: it has to be what a user could have typed.
    typed = parse_source(source.location)
    if (typed.kind, typed.location) != (source.kind, source.location) or not source.portable:
        raise LockFileError(f"'{name}' does not come from a source that can be locked")
    source.fixed(revision)
    return source, revision
