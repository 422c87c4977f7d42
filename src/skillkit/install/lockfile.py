"""skills-lock.json: which exact skills a project uses, in a form that `npx skills` reads too.

Beside the fields of `npx skills` each entry has `skillkit`, with what is needed to restore every byte.
What is read from a lock is somebody else's word.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillkit.core.codec import encode
from skillkit.core.digest import FileDigest, TreeDigest
from skillkit.core.disk import replace_file
from skillkit.core.foreign_json import parse_json, read_plain
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError, LockFileError, Remedy, SourceError
from skillkit.install.paths import installable
from skillkit.install.record import InstalledSkill, file_digests
from skillkit.install.sources.kinds import parse_source, source_from_data, source_to_data
from skillkit.install.sources.source import Source

LOCK_FILE = "skills-lock.json"
FORMAT = 1
"""That of `npx skills`."""
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


@dataclass(frozen=True, slots=True)
class ForeignEntry:
    """An entry that another tool wrote."""

    name: str
    fields: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Lock:
    """What a lock file says."""

    skills: tuple[LockedSkill, ...]
    foreign: tuple[ForeignEntry, ...] = ()


def find_lock(folder: Path) -> Path:
    """Return the lock of a project: one of APM only if there is no other."""
    found = (folder / name for name in (LOCK_FILE, "apm.lock.yaml", "apm.yml"))
    return next((path for path in found if path.is_file()), folder / LOCK_FILE)


def read_lock(path: Path) -> Lock:
    """Return the locked skills by name. Raises LockFileError for anything that cannot be used."""
    try:
        data = read_plain(path, MAX_LOCK)
    except FileNotFoundError:
        raise LockFileError(f"There is no {path}", remedy=Remedy.WRITE_LOCK) from None
    except OSError as error:
        raise LockFileError(f"Cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise LockFileError(f"{path} is {error}") from error
    try:
        content = parse_json(data, object_pairs_hook=_without_doubles)
        if content["version"] != FORMAT:
            raise LockFileError(
                f"{path} has the format {escape_hidden(str(content['version']))[:20]}; "
                f"this skillkit reads {FORMAT}"
            )
        entries = content["skills"]
        if len(entries) > MAX_SKILLS:
            raise LockFileError(f"{path} locks more than {MAX_SKILLS} skills")
        foreign = [ForeignEntry(name, entry) for name, entry in sorted(entries.items()) if _is_foreign(entry)]
        ours = [(name, entry) for name, entry in sorted(entries.items()) if not _is_foreign(entry)]
        locked = [_locked(name, entry["skillkit"]) for name, entry in ours]
    except LockFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, InstallError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise LockFileError(
            f"{path} is not a lock file that can be used: {escape_hidden(reason)[:200]}"
        ) from error
    if len({canonical_name(skill.name) for skill in locked}) != len(locked):
        raise LockFileError(f"{path} locks two skills of one name")
    return Lock(tuple(locked), tuple(foreign))


def _is_foreign(entry: Mapping[str, Any]) -> bool:
    """Whether another tool wrote it; of an entry that is not as that tool writes it, only its name counts."""
    return "skillkit" not in entry and ("computedHash" in entry or "sourceType" in entry)


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
        doubles = sorted(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"it says {', '.join(doubles[:3])} twice")
    return found


def write_lock(path: Path, skills: Mapping[str, tuple[InstalledSkill, str]]) -> None:
    """Lock skills, each with its `computedHash`; entries of other tools for other skills are kept.

    One that came from a folder cannot be restored elsewhere and is refused.
    """
    installed = [skill for skill, _ in skills.values()]
    local = [skill.name for skill in installed if not skill.source.portable]
    edited = [skill.name for skill in installed if skill.source.portable and not _is_fixed(skill)]
    if edited:
        raise LockFileError(f"With edits that are in no repository: {', '.join(edited)}. Update them first.")
    if local:
        raise LockFileError(
            f"Taken from a folder and so on no other machine: {', '.join(local)}. "
            "Add them from a repository, or name the skills to lock."
        )
    kept = {entry.name: dict(entry.fields) for entry in read_lock(path).foreign} if path.is_file() else {}
    locked = {canonical_name(name) for name in skills}
    entries = {name: fields for name, fields in kept.items() if canonical_name(name) not in locked}
    entries |= {skill.name: _entry(skill, hash_) for skill, hash_ in skills.values()}
    # npx sorts by UTF-16 code units; names are ASCII.
    data = json.dumps({"version": FORMAT, "skills": dict(sorted(entries.items()))}, indent=2) + "\n"
    replace_file(path, data.encode())


def _entry(skill: InstalledSkill, hash_: str) -> dict[str, Any]:
    path = f"{skill.subpath}/SKILL.md" if skill.subpath else "SKILL.md"
    files = {name: encode(file) for name, file in sorted(skill.files.items())}
    source = {"source": source_to_data(skill.source), "revision": skill.revision}
    return {
        **skill.source.lock_fields(path),
        "computedHash": hash_,
        "skillkit": {**source, "digest": skill.digest, "files": files},
    }


def _locked(name: str, entry: Mapping[str, Any]) -> LockedSkill:
    if not installable(name):
        raise LockFileError(f"'{escape_hidden(name)[:80]}' cannot be the name of a skill")
    source, revision = _source(name, entry)
    tree = TreeDigest.of(file_digests(entry["files"]))
    if tree.digest != entry["digest"]:
        raise LockFileError(f"The files of '{name}' do not add up to its digest")
    return LockedSkill(name, source, revision, tree.digest, tree.files)


def _source(name: str, entry: Mapping[str, Any]) -> tuple[Source, str | None]:
    source, revision = source_from_data(entry["source"]), entry["revision"]
    # What a lock names is somebody else's word: it has to be what a user could have typed.
    typed = parse_source(source.location)
    if (typed.kind, typed.location) != (source.kind, source.location) or not source.portable:
        raise LockFileError(f"'{name}' does not come from a source that can be locked")
    source.fixed(revision)
    return source, revision
