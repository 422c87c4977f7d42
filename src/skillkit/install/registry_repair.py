"""Rebuilding a registry: from the store, or from registry.json as requirement document 004 describes it.

    {"pdf": {"name": "pdf", "git_url": "https://…", "commit_sha": "…", "trusted": true,
             "installed_path": "~/.agent/skills/pdf", "installed_at": "…", …}, …}

Neither keeps approvals: in the older form they were not bound to a digest.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from skillkit.core.disk import JsonFile, make_folder, real_path, sync_folder
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.foreign_json import parse_json, read_plain
from skillkit.core.names import canonical_name
from skillkit.core.text import count_of
from skillkit.install.paths import installable
from skillkit.install.record import InstalledSkill
from skillkit.install.registry_state import MAX_PREVIOUS, UNREADABLE, RegistryState, RemovedSkill
from skillkit.install.sources.git import GitSource
from skillkit.install.store import SkillStore
from skillkit.install.tree import SKILL_FILE, read_folder

_TEXTS = ("git_url", "commit_sha", "branch", "tag")


@dataclass(frozen=True, slots=True)
class RepairResult:
    """A repaired registry state, and a notice for the user."""

    state: RegistryState
    notice: str
    untrusted: Collection[str] = ()
    """Digests to which no consent counts any more."""


def recover(
    file: JsonFile, store: SkillStore, damage: str, selection: str | None, now: datetime
) -> RepairResult:
    """Rebuild the registry from the store, and keep the damaged file aside."""
    kept = f" It is kept as {file.set_aside()}." if file.path.exists() else ""
    found = sorted(_recorded(store), key=lambda skill: skill.installed_at, reverse=True)
    state = _rebuilt(store, found, selection, now)
    return RepairResult(
        state,
        f"{file.path} was {damage}.{kept} Recovered {count_of(len(state.skills), 'skill')} from the "
        f"store and {len(state.removed)} in the trash; approve them again before use.",
        {record.digest for record in found},
    )


def _rebuilt(
    store: SkillStore, found: Sequence[InstalledSkill], selection: str | None, now: datetime
) -> RegistryState:
    """Rebuild the state from the store: linked versions are installed, others earlier or in the trash."""
    linked = store.all_linked()
    state = RegistryState(selection=selection)
    for skill in found:
        path = store.path(skill.stored)
        if linked.get(skill.name_canonical) == real_path(path.parent) / path.name:
            state.skills[skill.name_canonical] = skill
    for skill in found:
        current = state.skills.get(skill.name_canonical)
        if current is None:
            state.removed.append(RemovedSkill(skill, now.isoformat(timespec="seconds")))
        elif current.stored != skill.stored and len(current.previous) < MAX_PREVIOUS:
            previous = (*current.previous, skill)
            state.skills[skill.name_canonical] = replace(current, previous=previous)
    return state


def _recorded(store: SkillStore) -> Iterator[InstalledSkill]:
    """Yield the versions in the store whose records can be read, without trust."""
    for path, record in store.all_records():
        try:
            skill = InstalledSkill.from_data({**record, "previous": []})
        except UNREADABLE:
            continue
        if path == store.path(skill.stored):
            yield replace(skill, trusted_digest=None)


def carry_over(file: JsonFile, store: SkillStore) -> RepairResult | None:
    """Turn a registry of the older form into one of this release; None if the file is not one."""
    try:
        records = _older_records(read_plain(file.path))
    except FileNotFoundError:
        return None
    if records is None:
        return None
    aside = store.root.parent / "carried-over"
    skills = {skill.name_canonical: skill for skill in _carried_over(records, store, aside)}
    return RepairResult(
        RegistryState(skills),
        f"{file.path} was of an older form; it is kept as {file.keep_copy('older')}. Carried over "
        f"{len(skills)} of {len(records)} skills, their folders to {aside}. Approve them again before use.",
    )


def _older_records(data: bytes) -> list[dict[str, Any]] | None:
    """Return the records of a registry of the older form; None if `data` is not one."""
    try:
        content = parse_json(data)
    except ValueError:
        return None
    if isinstance(content, dict) and "version" not in content:
        content = content.get("skills", content)
    records = list(content.values()) if isinstance(content, dict) else content
    return records if isinstance(records, list) and records and all(map(_is_record, records)) else None


def _is_record(record: object) -> bool:
    return (
        isinstance(record, dict)
        and "digest" not in record
        and all(isinstance(record.get(key), str) for key in ("name", "installed_path", "installed_at"))
        and all(record.get(key) is None or isinstance(record[key], str) for key in _TEXTS)
    )


def _carried_over(records: list[dict[str, Any]], store: SkillStore, aside: Path) -> Iterator[InstalledSkill]:
    """Yield the git skills that still exist, copied into the store.

    Their folders move to `aside`, so that links take their places. Interrupted, it can be done again.
    """
    for record in records:
        if record.get("git_url") is None or not installable(record["name"]):
            continue  # bundled, or put there by hand: discovered in place
        old = Path(os.path.expanduser(record["installed_path"]))
        kept = aside / canonical_name(record["name"])
        moved = kept.is_dir()
        if not moved and (old.parent != store.links or old.is_symlink()):
            continue
        skill = _taken(record, kept if moved else old, store)
        if skill is None:
            continue
        if not moved:
            make_folder(aside)
            os.rename(old, kept)
            sync_folder(aside)
        yield skill


def _taken(record: dict[str, Any], folder: Path, store: SkillStore) -> InstalledSkill | None:
    """Copy `folder` into the store and return its record; None if it is not a valid skill."""
    try:
        tree = read_folder(folder)
        source = GitSource.from_registry_fields(record)
    except SkillsUseError:
        return None
    if SKILL_FILE not in tree.files:
        return None
    canonical = canonical_name(record["name"])
    skill = InstalledSkill(
        record["name"],
        canonical,
        tree.digest.digest,
        tree.digest.files,
        source,
        revision=record.get("commit_sha"),
        installed_path=str(store.link(canonical)),
        installed_at=record["installed_at"],
    )
    return replace(skill, stored=store.put(tree, canonical, skill.to_data()))
