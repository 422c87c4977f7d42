"""skills-lock.json: which exact skills a project uses, in a form that `npx skills` reads too.

Beside the fields of `npx skills` each entry has `skillkit`, the fields needed to restore every byte.
The content of a lock is untrusted input.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillkit.core.codec import encode
from skillkit.core.digest import TreeDigest
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
APM_LOCK_FILE, APM_MANIFEST = "apm.lock.yaml", "apm.yml"
FORMAT = 1
"""The lock file of `npx skills`."""
MAX_LOCK = 4 * 1024 * 1024
MAX_SKILLS = 1000


@dataclass(frozen=True, slots=True)
class Lock:
    """The content of a lock file."""

    skills: tuple[InstalledSkill, ...]
    """Records with the source, the revision and the files that were locked."""
    foreign: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    """Entries that another tool wrote, by name."""


def find_lock(folder: Path) -> Path:
    """Return the lock of a project: one of APM only if there is no other."""
    found = (folder / name for name in (LOCK_FILE, APM_LOCK_FILE, APM_MANIFEST))
    return next((path for path in found if path.is_file()), folder / LOCK_FILE)


def read_lock(path: Path) -> Lock:
    """Return the locked skills by name. Raises LockFileError if the file is invalid."""
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
                f"{path} has version {escape_hidden(str(content['version']))[:20]}; "
                f"this skillkit reads {FORMAT}"
            )
        entries = dict(sorted(content["skills"].items()))
        if len(entries) > MAX_SKILLS:
            raise LockFileError(f"{path} locks more than {MAX_SKILLS} skills")
        foreign = {name: entry for name, entry in entries.items() if _is_foreign(entry)}
        locked = [_locked(name, entry["skillkit"]) for name, entry in entries.items() if name not in foreign]
    except LockFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, InstallError) as error:
        reason = f"missing {error}" if isinstance(error, KeyError) else str(error)
        raise LockFileError(f"{path} is not a valid lock file: {escape_hidden(reason)[:200]}") from error
    if len({skill.name_canonical for skill in locked}) != len(locked):
        raise LockFileError(f"{path} locks two skills with the same name")
    return Lock(tuple(locked), foreign)


def _is_foreign(entry: Mapping[str, Any]) -> bool:
    """Return whether another tool wrote the entry; only the name of an invalid one is used."""
    return "skillkit" not in entry and ("computedHash" in entry or "sourceType" in entry)


def _is_fixed(skill: InstalledSkill) -> bool:
    """Return whether the source can return the same bytes again."""
    try:
        skill.source.fixed(skill.revision)
    except SourceError:
        return False
    return True


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject duplicate keys; `json.loads` would silently keep the last one."""
    found = dict(pairs)
    if len(found) != len(pairs):
        doubles = sorted(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"duplicate keys: {', '.join(doubles[:3])}")
    return found


def write_lock(path: Path, skills: Mapping[str, tuple[InstalledSkill, str]]) -> None:
    """Lock skills, each with its `computedHash`; entries of other tools for other skills are kept.

    One that came from a folder cannot be restored elsewhere and is refused.
    """
    installed = [skill for skill, _ in skills.values()]
    local = [skill.name for skill in installed if not skill.source.portable]
    edited = [skill.name for skill in installed if skill.source.portable and not _is_fixed(skill)]
    if edited:
        raise LockFileError(
            f"Locally edited skills cannot be locked: {', '.join(edited)}. Update them first."
        )
    if local:
        raise LockFileError(
            f"Skills from a local path cannot be locked: {', '.join(local)}. "
            "Add them from a repository, or name the skills to lock."
        )
    kept = read_lock(path).foreign if path.is_file() else {}
    locked = {canonical_name(name) for name in skills}
    entries = {name: entry for name, entry in kept.items() if canonical_name(name) not in locked}
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


def _locked(name: str, entry: Mapping[str, Any]) -> InstalledSkill:
    if not installable(name):
        raise LockFileError(f"'{escape_hidden(name)[:80]}' cannot be the name of a skill")
    source, revision = _source(name, entry)
    tree = TreeDigest.of(file_digests(entry["files"]))
    if tree.digest != entry["digest"]:
        raise LockFileError(f"The file digests of '{name}' do not match its digest")
    return InstalledSkill(name, canonical_name(name), tree.digest, tree.files, source, revision)


def _source(name: str, entry: Mapping[str, Any]) -> tuple[Source, str | None]:
    source, revision = source_from_data(entry["source"]), entry["revision"]
    # Untrusted input: a source must be one that a user could have typed.
    typed = parse_source(source.location)
    if (typed.kind, typed.location) != (source.kind, source.location) or not source.portable:
        raise LockFileError(f"'{name}' has a source that cannot be locked")
    source.fixed(revision)
    return source, revision
