"""Entries of skills-lock.json that other tools wrote: no commit, a hash; the commit is found by the hash."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError, LockFileError
from skillkit.install.fetch import Wanted, fetch
from skillkit.install.lock_hashes import fitting_formula
from skillkit.install.lockfile import ForeignEntry, Lock, LockedSkill
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import RegistryState
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.layout import LeftOut
from skillkit.install.sources.source import Access, OpenSource, Source, checked_path
from skillkit.install.store import SkillStore
from skillkit.install.tree import ANY_SIZE, SkillTree, TreeLimits, read_folder

_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class ForeignSkill:
    """A skill that a lock names by source and hash."""

    name: str
    source: Source
    """With the path of the skill, where the lock tells it."""
    has_path: bool
    hash: str


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A foreign entry whose commit was found."""

    locked: LockedSkill
    note: str
    """Which formula gave the hash."""


def parse_foreign(entry: ForeignEntry, folder: Path) -> ForeignSkill:
    """Return the source that an entry means; `folder` is that of the lock. Raises InstallError."""
    fields = entry.fields
    hash_ = fields.get("computedHash")
    if not isinstance(hash_, str) or not hash_:
        raise LockFileError("it has no computedHash")
    path = fields.get("skillPath")
    source = parse_source(_place(fields, folder), ref=_text(fields, "ref"))
    if path is None:
        return ForeignSkill(entry.name, source, False, hash_)
    return ForeignSkill(entry.name, source.within(checked_path(str(path))), True, hash_)


def _place(fields: Mapping[str, Any], folder: Path) -> str:
    kind, source = str(fields.get("sourceType")), str(fields.get("source") or "")
    address = _text(fields, "sourceUrl")
    if kind == "local":
        target = (folder / source).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise LockFileError(f"its folder is outside the project: {escape_hidden(source)}")
        return str(target)
    if kind == "well-known":
        return address or f"https://{source}"
    if kind == "github" or (kind == "autoskills-registry" and source.count("/") == 1):
        return address or f"https://github.com/{source.removesuffix('.git')}"
    if kind in ("git", "gitlab") and (address or "://" in source or "@" in source):
        return address or source
    raise LockFileError(f"skills of the kind '{escape_hidden(kind)[:40]}' cannot be fetched")


def _text(fields: Mapping[str, Any], key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) and value else None


def find_installed(state: RegistryState, store: SkillStore, skill: ForeignSkill) -> LockedSkill | None:
    """Return what is installed, if it is what the lock means."""
    installed = state.skills.get(canonical_name(skill.name))
    if installed is None or installed.source.location != skill.source.location:
        return None
    tree = read_folder(store.path(installed.stored), ANY_SIZE)
    return None if fitting_formula(_contents(tree), skill.hash) is None else _locked(skill, installed, tree)


def sort_foreign(
    lock: Lock, folder: Path, state: RegistryState, store: SkillStore
) -> tuple[list[LockedSkill], list[ForeignSkill], list[LeftOut]]:
    """Return what is installed as entries of other tools say, what is to be found, and the rest."""
    known, strange, left_out = [], [], []
    for entry in lock.foreign:
        try:
            skill = parse_foreign(entry, folder)
        except InstallError as error:
            left_out.append(LeftOut(entry.name, str(error)))
            continue
        installed = find_installed(state, store, skill)
        if installed is None:
            strange.append(skill)
        else:
            known.append(installed)
    return known, strange, left_out


def _locked(skill: ForeignSkill, installed: InstalledSkill, tree: SkillTree) -> LockedSkill:
    return LockedSkill(
        skill.name, installed.source, installed.revision, tree.digest.digest, tree.digest.files
    )


def find_all(
    skills: Sequence[ForeignSkill], limits: TreeLimits, access: Access
) -> tuple[list[FoundSkill], list[LeftOut]]:
    """Find each skill in the history of its source; what is not there is left out with the reason."""
    groups: dict[Source, list[ForeignSkill]] = {}
    for skill in skills:
        groups.setdefault(skill.source.within(""), []).append(skill)

    def ask(group: tuple[Source, list[ForeignSkill]]) -> list[FoundSkill | LeftOut]:
        source, members = group
        try:
            with source.open(access) as opened:
                return [_find(opened, skill, limits) for skill in members]
        except InstallError as error:
            return [LeftOut(skill.name, str(error)) for skill in members]

    with ThreadPoolExecutor(_AT_ONCE) as pool, access.stopping_on_error():
        answers = [answer for group in pool.map(ask, groups.items()) for answer in group]
    return (
        [answer for answer in answers if isinstance(answer, FoundSkill)],
        [answer for answer in answers if isinstance(answer, LeftOut)],
    )


def _find(opened: OpenSource, skill: ForeignSkill, limits: TreeLimits) -> FoundSkill | LeftOut:
    try:
        path = skill.source.path
        if not skill.has_path:
            path = fetch(opened, "", Wanted((skill.name,)), limits).skills[0].source.path
        tried = 0
        for revision, tree in opened.earlier(path, limits):
            tried += 1
            words = fitting_formula(_contents(tree), skill.hash)
            if words is not None:
                source = opened.followed.within(path)
                digest = tree.digest
                locked = LockedSkill(skill.name, source, revision, digest.digest, digest.files)
                return FoundSkill(locked, f"found by the hash of the lock, {words}")
    except InstallError as error:
        return LeftOut(skill.name, str(error))
    return LeftOut(
        skill.name, f"none of {tried} versions in {opened.followed.location} has the hash of the lock"
    )


def _contents(tree: SkillTree) -> dict[str, bytes]:
    return {path: file.content for path, file in tree.files.items()}
