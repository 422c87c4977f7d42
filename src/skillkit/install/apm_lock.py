"""apm.lock.yaml: skills that APM deployed, each with its commit and the hashes of its files."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.foreign_json import read_plain
from skillkit.core.text import escape_hidden
from skillkit.core.yaml_header import load_yaml
from skillkit.install.exceptions import InstallError, LockFileError
from skillkit.install.foreign_lock import ForeignSkill
from skillkit.install.lockfile import APM_LOCK_FILE, MAX_LOCK, MAX_SKILLS
from skillkit.install.paths import installable
from skillkit.install.sources.git_address import FULL_COMMIT
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.layout import Skipped
from skillkit.install.sources.source import Source, checked_path

_VERSIONS = ("1", "2")
_DEPLOYED = re.compile(r"(?:^|.*/)skills/(?P<name>[^/]+)(?:/(?P<file>.+))?")


def read_apm_lock(path: Path) -> tuple[list[ForeignSkill], list[Skipped]]:
    """Return the skills of the lock and the entries that cannot be restored. Raises LockFileError.

    A manifest, `apm.yml`, locks nothing: the error has the commands that add what it names.
    """
    try:
        data = read_plain(path, MAX_LOCK)
        fields = {field.key: field.value for field in load_yaml(data.decode("utf-8-sig"), 1, frozenset())}
    except OSError as error:
        raise LockFileError(f"Cannot read {path}: {error.strerror}") from error
    except (SkillsUseError, ValueError) as error:
        raise LockFileError(f"{path} cannot be read: {escape_hidden(str(error))[:200]}") from error
    if "lockfile_version" not in fields and not isinstance(fields.get("dependencies"), list):
        commands = "".join(f"\n  {command}" for command in _commands(fields.get("dependencies")))
        raise LockFileError(
            f"{path} is a manifest, not a lock: `apm install` writes {APM_LOCK_FILE}, "
            f"which is read here{', or add its packages:' if commands else ''}{commands}"
        )
    version = str(fields.get("lockfile_version", "1"))
    if version not in _VERSIONS:
        raise LockFileError(f"{path} has version {escape_hidden(version)[:20]}; supported are 1 and 2")
    entries = fields.get("dependencies") or []
    if not isinstance(entries, list):
        raise LockFileError(f"{path} has no list of dependencies")
    found: dict[str, ForeignSkill] = {}
    left_out: list[Skipped] = []
    for entry in entries:
        for skill in _skills(entry if isinstance(entry, dict) else {}):
            if isinstance(skill, Skipped):
                left_out.append(skill)
            elif found.setdefault(skill.name, skill) is not skill:
                left_out.append(Skipped(skill.name, f"another skill with that name is in {skill.source}"))
    if len(found) > MAX_SKILLS:
        raise LockFileError(f"{path} locks more than {MAX_SKILLS} skills")
    return list(found.values()), left_out


def _commands(dependencies: object) -> Iterator[str]:
    """Return the commands that add the packages a manifest names in other repositories."""
    named = dependencies.get("apm") if isinstance(dependencies, dict) else None
    for entry in named if isinstance(named, list) else ():
        place = str(entry.get("git") or "") if isinstance(entry, dict) else str(entry)
        skills = entry.get("skills") if isinstance(entry, dict) else None
        place, _, ref = place.partition("#")
        if isinstance(entry, dict):
            place, ref = "/".join(filter(None, (place, entry.get("path")))), str(entry.get("ref") or ref)
        try:
            source = parse_source(place, ref=ref or None)
        except InstallError:
            continue
        if source.portable:
            words = ["agent", "skill", "add", place, *(["--ref", ref] if ref else [])]
            for skill in skills if isinstance(skills, list) else ():
                words += ["--skill", str(skill)]
            yield shlex.join(escape_hidden(word) for word in words)


def _skills(entry: Mapping[str, Any]) -> Iterator[ForeignSkill | Skipped]:
    """Yield the skills of one package; nothing if it deployed only prompts or agents."""
    hashes = _hashes(entry)
    if not hashes:
        return
    try:
        source = _source(entry)
    except InstallError as error:
        yield from (Skipped(name, str(error)) for name in hashes)
        return
    for name, files in hashes.items():
        if installable(name):
            follow = str(entry["resolved_ref"]) if entry.get("resolved_ref") else None
            yield ForeignSkill(name, source, False, "", files, follow)
        else:
            yield Skipped(escape_hidden(name)[:80], "invalid skill name")


def _hashes(entry: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the hashes of files by skill; copies in the folders of several clients count once."""
    listed = entry.get("deployed_files")
    recorded = entry.get("deployed_file_hashes")
    recorded = recorded if isinstance(recorded, dict) else {}
    found: dict[str, dict[str, str]] = {}
    for path in (*(listed if isinstance(listed, list) else ()), *recorded):
        match = _DEPLOYED.fullmatch(str(path))
        if match is None or "://" in str(path):
            continue
        files = found.setdefault(match["name"], {})
        if match["file"] and path in recorded:
            files.setdefault(match["file"], str(recorded[path]).removeprefix("sha256:"))
    subset = entry.get("skill_subset")
    if not found and isinstance(subset, list):
        found = {str(name): {} for name in subset}
    return found


def _source(entry: Mapping[str, Any]) -> Source:
    place, commit = str(entry.get("repo_url") or ""), str(entry.get("resolved_commit") or "")
    if entry.get("source") == "local" or place.startswith(("_local/", "local/")):
        raise LockFileError("its package is local to the project, not in a repository")
    if entry.get("source") == "registry":
        raise LockFileError("its package comes from an APM registry, which is not supported")
    if not FULL_COMMIT.fullmatch(commit):
        raise LockFileError("the lock has no commit for it")
    if "://" not in place and not place.startswith("git@"):
        place = f"https://{entry.get('host') or 'github.com'}/{place}"
    source = parse_source(place, ref=commit)
    if not source.pinned:
        raise LockFileError(f"'{escape_hidden(place)[:100]}' is not a repository")
    return source.within(checked_path(str(entry.get("virtual_path") or "")))
