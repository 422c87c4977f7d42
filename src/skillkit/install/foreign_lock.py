"""Skills in locks of other tools: a hash and no commit, or a commit; the bytes are found by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillkit.core.disk import real_path
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import GitError, InstallError, LockFileError
from skillkit.install.fetch import Wanted, fetch
from skillkit.install.lock_hashes import fitting_formula, text_hash
from skillkit.install.lockfile import ForeignEntry, Lock, LockedSkill
from skillkit.install.paths import installable
from skillkit.install.registry_state import RegistryState
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.layout import LeftOut
from skillkit.install.sources.source import Access, OpenSource, Source, ask_each_source, checked_path
from skillkit.install.store import SkillStore
from skillkit.install.tree import ANY_SIZE, TreeLimits, read_folder

_AT_ONCE = 4
_USUAL = ("skills/", "", ".claude/skills/", ".agents/skills/")
"""Folders that skills are kept in, where a lock does not say which."""


@dataclass(frozen=True, slots=True)
class ForeignSkill:
    """A skill that a lock names by source and hash."""

    name: str
    source: Source
    """With the path of the skill, where the lock tells it."""
    has_path: bool
    hash: str
    """Of all its files, as skills-lock.json has it; empty where each file has its own."""
    file_hashes: Mapping[str, str] = field(default_factory=dict, hash=False)
    """SHA-256 of single files with the line ends of Unix, as apm.lock.yaml has them."""
    follow: str | None = None
    """The branch or tag to follow, where `source` names a commit."""

    def fits(self, files: Mapping[str, bytes]) -> str | None:
        """Return in words how these files are what the lock means; None when they are not."""
        if self.hash:
            words = fitting_formula(files, self.hash)
            return None if words is None else f"found by the hash of the lock, {words}"
        if any(
            name not in files or text_hash(files[name]) != value for name, value in self.file_hashes.items()
        ):
            return None
        if not self.file_hashes:
            return "at the commit of the lock, which has no hashes for it"
        return f"at the commit of the lock, {len(self.file_hashes)} files compared"


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A foreign entry whose commit was found."""

    locked: LockedSkill
    note: str
    """Which formula gave the hash."""


def parse_foreign(entry: ForeignEntry, folder: Path) -> ForeignSkill:
    """Return the source that an entry means; `folder` is that of the lock. Raises InstallError."""
    fields = entry.fields
    if not installable(entry.name):
        raise LockFileError("it cannot be the name of a skill")
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
        target = real_path(folder / source)
        if not target.is_relative_to(real_path(folder)):
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
    if skill.fits(tree.contents) is None:
        return None
    digest = tree.digest
    return LockedSkill(skill.name, installed.source, installed.revision, digest.digest, digest.files)


def parse_entries(lock: Lock, folder: Path) -> tuple[list[ForeignSkill], list[LeftOut]]:
    """Return what entries of other tools in skills-lock.json mean, and those that mean nothing here."""
    skills, left_out = [], []
    taken = {canonical_name(skill.name) for skill in lock.skills}
    for entry in lock.foreign:
        try:
            skill = parse_foreign(entry, folder)
            if canonical_name(skill.name) in taken:
                raise LockFileError("another skill of that name is in the lock")
            taken.add(canonical_name(skill.name))
            skills.append(skill)
        except InstallError as error:
            left_out.append(LeftOut(escape_hidden(entry.name)[:80], str(error)))
    return skills, left_out


def sort_foreign(
    skills: Sequence[ForeignSkill], state: RegistryState, store: SkillStore
) -> tuple[list[LockedSkill], list[ForeignSkill]]:
    """Return what is installed as a lock of another tool says, and what is to be found."""
    found = [(skill, find_installed(state, store, skill)) for skill in skills]
    strange = [skill for skill, installed in found if installed is None]
    return [installed for _, installed in found if installed is not None], strange


def find_all(
    skills: Sequence[ForeignSkill], limits: TreeLimits, access: Access
) -> tuple[list[FoundSkill], list[LeftOut]]:
    """Find each skill in the history of its source; what is not there is left out with the reason."""

    def ask(source: Source, members: list[ForeignSkill]) -> list[FoundSkill | LeftOut]:
        try:
            with source.open(access) as opened:
                return [_find(opened, skill, limits) for skill in members]
        except InstallError as error:
            return [LeftOut(skill.name, str(error)) for skill in members]

    answers = ask_each_source(skills, lambda skill: skill.source, ask, access, _AT_ONCE)
    return (
        [answer for answer in answers if isinstance(answer, FoundSkill)],
        [answer for answer in answers if isinstance(answer, LeftOut)],
    )


def _find(opened: OpenSource, skill: ForeignSkill, limits: TreeLimits) -> FoundSkill | LeftOut:
    try:
        tried = 0
        paths, missing = _places(opened, skill, limits)
        for path in paths:
            for revision, tree in opened.earlier(path, limits):
                tried += 1
                words = skill.fits(tree.contents)
                if words is not None:
                    source = opened.followed.at(skill.follow) if skill.follow else opened.followed
                    found, digest = source.within(path), tree.digest
                    locked = LockedSkill(skill.name, found, revision, digest.digest, digest.files)
                    return FoundSkill(locked, words)
    except InstallError as error:
        return LeftOut(skill.name, str(error))
    if not tried and missing is not None:
        return LeftOut(skill.name, str(missing))
    return LeftOut(
        skill.name, f"none of {tried} versions in {opened.followed.location} has the hash of the lock"
    )


def _places(
    opened: OpenSource, skill: ForeignSkill, limits: TreeLimits
) -> tuple[list[str], InstallError | None]:
    """Where a skill is; where it is no more, and the lock does not say where it was, the usual folders."""
    path = skill.source.path
    if skill.has_path:
        return [path], None
    try:
        return [fetch(opened, path, Wanted((skill.name,)), limits).skills[0].source.path], None
    except InstallError as error:
        if isinstance(error, GitError):
            raise
        return [f"{folder}{skill.name}" for folder in _USUAL], error
