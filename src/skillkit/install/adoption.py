"""Skills that other tools put into clients' folders, and where those tools say they came from."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillkit.core.disk import real_path, user_home
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.foreign_json import parse_json, read_plain
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.clients import Client, Place, shared_folders
from skillkit.install.consents import Consent, ConsentKind
from skillkit.install.exceptions import InstallError, LockFileError
from skillkit.install.fetch import LoadedSkill, SkillSelector, fetch, manifest
from skillkit.install.foreign_lock import parse_foreign
from skillkit.install.lockfile import LOCK_FILE, MAX_LOCK, read_lock
from skillkit.install.sources.clawhub import ClawHubSource
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.layout import Skipped
from skillkit.install.sources.source import Access, Source
from skillkit.install.tree import ANY_SIZE, SKILL_FILE, SkillTree, read_folder

_ORIGIN = ".clawhub/origin.json"
_GLOBAL_VERSION = 3
_NPX_NOTE = "installed by npx skills"
_GH_NOTE = "gh skill added fields to SKILL.md; the first update removes them"


@dataclass(frozen=True, slots=True)
class AdoptableSkill:
    """A skill installed by another tool, with its future record; it stays in place."""

    skill: LoadedSkill
    place: Place
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UntrackedSkill:
    """A folder in the user's home with no recorded origin: it can be approved, not updated."""

    path: Path
    tree: SkillTree
    metadata: SkillMetadata

    @property
    def consent(self) -> Consent:
        name = self.metadata.canonical_name
        return Consent(ConsentKind.USE, self.tree.digest.digest, name, str(self.path))


def find_adoptable(
    clients: Mapping[str, Client], project: Path, placed: set[str]
) -> Iterator[AdoptableSkill | UntrackedSkill | Skipped]:
    """Return the skills in clients' folders that are not ours; of a project, only those with an origin."""
    folders: dict[Path, list[str]] = {}
    for client in clients.values():
        for folder in client.searched_folders(project):
            if folder.is_dir():
                folders.setdefault(real_path(folder), []).append(client.id)
    known = {**_of_project_lock(project), **_of_global_lock()}
    at_home = frozenset(map(real_path, shared_folders()))
    for folder, ids in folders.items():
        for name in sorted(os.listdir(folder)):
            path = folder / name
            if name.startswith(".") or path.is_symlink() or not (path / SKILL_FILE).is_file():
                continue
            if str(path) in placed:
                continue
            try:
                yield _adoptable(path, tuple(ids), known, at_home=folder in at_home)
            except (SkillsUseError, OSError) as error:
                yield Skipped(str(path), str(error))


def _adoptable(
    path: Path, clients: tuple[str, ...], known: "Mapping[str, _Origin]", *, at_home: bool
) -> AdoptableSkill | UntrackedSkill:
    tree = read_folder(path, ANY_SIZE)
    metadata = manifest(tree.skill_file, path.name, recover=True)
    origin = _of_clawhub(tree) or _of_gh(metadata) or known.get(canonical_name(path.name))
    if origin is None and at_home:
        return UntrackedSkill(path, tree, metadata)
    if origin is None:
        raise InstallError("no tool says where it came from")
    if isinstance(origin, InstallError):
        raise origin
    source, revision, note = origin
    found = LoadedSkill.of(tree, metadata, source, revision)
    return AdoptableSkill(found, Place(str(path), clients, copied=True), note)


_Origin = tuple[Source, str | None, tuple[str, ...]] | InstallError


def _of_clawhub(tree: SkillTree) -> _Origin | None:
    if _ORIGIN not in tree.files:
        return None
    try:
        data = parse_json(tree.files[_ORIGIN].content)
        fields = {"slug": data["slug"], "owner": data.get("ownerHandle"), "registry": data.get("registry")}
        source = ClawHubSource.from_data({key: value for key, value in fields.items() if value})
        return source, str(data["installedVersion"]), ("installed by ClawHub",)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return LockFileError(f"{_ORIGIN} cannot be read: {escape_hidden(str(error))[:100]}")


def _of_gh(metadata: SkillMetadata) -> _Origin | None:
    fields = metadata.metadata
    address, ref, path = (fields.get(f"github-{key}") for key in ("repo", "ref", "path"))
    if not isinstance(address, str):
        return None
    pinned = fields.get("github-pinned")
    source = parse_source(address, ref=str(pinned or ref) if pinned or ref else None, path=str(path or ""))
    return source, None, ("installed by gh skill", _GH_NOTE)


def _of_project_lock(project: Path) -> dict[str, _Origin]:
    try:
        entries = read_lock(project / LOCK_FILE).foreign
    except InstallError:
        return {}
    return {canonical_name(name): _parsed(name, fields, project) for name, fields in entries.items()}


def _of_global_lock() -> dict[str, _Origin]:
    state = os.environ.get("XDG_STATE_HOME")
    path = Path(state, "skills") if state else user_home() / ".agents"
    try:
        content = parse_json(read_plain(path / ".skill-lock.json", MAX_LOCK))
        entries: dict[str, Any] = content["skills"] if content["version"] >= _GLOBAL_VERSION else {}
        return {
            canonical_name(name): _in_folder(name, fields)
            if fields.get("sourceType") == "local"
            else _parsed(name, {"computedHash": "-", **fields}, path)
            for name, fields in entries.items()
            if isinstance(fields, dict)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _in_folder(name: str, fields: Mapping[str, Any]) -> _Origin:
    """Find a skill in a folder of the user's own lock, which may be anywhere and has no path inside."""
    folder = str(fields.get("source") or "")
    try:
        if not Path(folder).is_absolute():
            raise LockFileError(f"its path is not absolute: {escape_hidden(folder)[:100]}")
        source = parse_source(folder)
        with source.open(Access()) as opened:
            (found,) = fetch(opened, source.path, SkillSelector(names=(name,)), ANY_SIZE).skills
        return found.skill.source, found.skill.revision, (_NPX_NOTE,)
    except InstallError as error:
        return error


def _parsed(name: str, fields: Mapping[str, Any], folder: Path) -> _Origin:
    try:
        return parse_foreign(name, fields, folder).source, None, (_NPX_NOTE,)
    except InstallError as error:
        return error
