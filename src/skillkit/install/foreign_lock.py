"""Skills in locks of other tools, found by a hash or a commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillkit.core.disk import real_path
from skillkit.core.names import canonical_name
from skillkit.core.text import count_of, escape_hidden
from skillkit.install.exceptions import GitError, InstallError, LockFileError
from skillkit.install.fetch import SkillSelector, fetch
from skillkit.install.lock_hashes import fitting_formula, text_hash
from skillkit.install.lockfile import Lock
from skillkit.install.paths import installable
from skillkit.install.record import InstalledSkill
from skillkit.install.registry_state import RegistryState
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.layout import Skipped
from skillkit.install.sources.source import Access, OpenSource, Source, ask_each_source, checked_path
from skillkit.install.store import SkillStore
from skillkit.install.tree import ANY_SIZE, SkillTree, TreeLimits, read_folder

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
        """Describe how these files match the lock; None if they do not."""
        if self.hash:
            words = fitting_formula(files, self.hash)
            return None if words is None else f"matched by the hash in the lock, {words}"
        if any(
            name not in files or text_hash(files[name]) != value for name, value in self.file_hashes.items()
        ):
            return None
        if not self.file_hashes:
            return "at the locked commit; the lock has no hashes for it"
        return f"at the locked commit, {count_of(len(self.file_hashes), 'file')} compared"

    def record(self, source: Source, revision: str | None, tree: SkillTree) -> InstalledSkill:
        """Return the entry our own lock would have for these files."""
        name, digest = canonical_name(self.name), tree.digest
        return InstalledSkill(self.name, name, digest.digest, digest.files, source, revision)


def parse_foreign(name: str, fields: Mapping[str, Any], folder: Path) -> ForeignSkill:
    """Return the skill that an entry names; `folder` is that of the lock. Raises InstallError."""
    if not installable(name):
        raise LockFileError("invalid skill name")
    hash_ = fields.get("computedHash")
    if not isinstance(hash_, str) or not hash_:
        raise LockFileError("no computedHash")
    path = fields.get("skillPath")
    source = parse_source(_place(fields, folder), ref=_text(fields, "ref"))
    if path is not None:
        source = source.within(checked_path(str(path)))
    return ForeignSkill(name, source, path is not None, hash_)


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


def _find_installed(state: RegistryState, store: SkillStore, skill: ForeignSkill) -> InstalledSkill | None:
    """Return the installed skill if its bytes match the lock."""
    installed = state.skills.get(canonical_name(skill.name))
    if installed is None or installed.source.location != skill.source.location:
        return None
    tree = read_folder(store.path(installed.stored), ANY_SIZE)
    return (
        None
        if skill.fits(tree.contents) is None
        else skill.record(installed.source, installed.revision, tree)
    )


def parse_entries(lock: Lock, folder: Path) -> tuple[list[ForeignSkill], list[Skipped]]:
    """Return the skills in entries of other tools in skills-lock.json, and the unusable entries."""
    skills, left_out = [], []
    taken = {skill.name_canonical for skill in lock.skills}
    for name, fields in lock.foreign.items():
        try:
            skill = parse_foreign(name, fields, folder)
            if canonical_name(skill.name) in taken:
                raise LockFileError("another skill with that name is in the lock")
            taken.add(canonical_name(skill.name))
            skills.append(skill)
        except InstallError as error:
            left_out.append(Skipped(escape_hidden(name)[:80], str(error)))
    return skills, left_out


def sort_foreign(
    skills: Sequence[ForeignSkill], state: RegistryState, store: SkillStore
) -> tuple[list[InstalledSkill], list[ForeignSkill]]:
    """Split the skills of another tool's lock into installed ones and those to find."""
    found = [(skill, _find_installed(state, store, skill)) for skill in skills]
    strange = [skill for skill, installed in found if installed is None]
    return [installed for _, installed in found if installed is not None], strange


def find_all(
    skills: Sequence[ForeignSkill], limits: TreeLimits, access: Access
) -> tuple[list[tuple[InstalledSkill, str]], list[Skipped]]:
    """Find each skill in the history of its source, with a note on how; skip missing ones."""

    def ask(source: Source, members: list[ForeignSkill]) -> list[tuple[InstalledSkill, str] | Skipped]:
        try:
            with source.open(access) as opened:
                return [_find(opened, skill, limits) for skill in members]
        except InstallError as error:
            return [Skipped(skill.name, str(error)) for skill in members]

    answers = ask_each_source(skills, lambda skill: skill.source, ask, access, _AT_ONCE)
    return (
        [answer for answer in answers if not isinstance(answer, Skipped)],
        [answer for answer in answers if isinstance(answer, Skipped)],
    )


def _find(
    opened: OpenSource, skill: ForeignSkill, limits: TreeLimits
) -> tuple[InstalledSkill, str] | Skipped:
    try:
        tried = 0
        paths, missing = _places(opened, skill, limits)
        for path in paths:
            for revision, tree in opened.earlier(path, limits):
                tried += 1
                words = skill.fits(tree.contents)
                if words is not None:
                    source = opened.followed.at(skill.follow) if skill.follow else opened.followed
                    return skill.record(source.within(path), revision, tree), words
    except InstallError as error:
        return Skipped(skill.name, str(error))
    if not tried and missing is not None:
        return Skipped(skill.name, str(missing))
    return Skipped(
        skill.name, f"none of {tried} versions in {opened.followed.location} matches the hash in the lock"
    )


def _places(
    opened: OpenSource, skill: ForeignSkill, limits: TreeLimits
) -> tuple[list[str], InstallError | None]:
    """Return the path of a skill; the usual folders if it moved and the lock names no path."""
    path = skill.source.path
    if skill.has_path:
        return [path], None
    try:
        return [fetch(opened, path, SkillSelector((skill.name,)), limits).skills[0].skill.subpath], None
    except InstallError as error:
        if isinstance(error, GitError):
            raise
        return [f"{folder}{skill.name}" for folder in _USUAL], error
