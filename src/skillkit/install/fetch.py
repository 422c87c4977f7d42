"""From a source to skills in memory: find them, choose, read and parse; nothing is written."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.exceptions import SkillParsingError
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.parser import SkillParser
from skillkit.core.text import escape_hidden, one_line
from skillkit.install.exceptions import InstallError, ManyFoundError
from skillkit.install.git import GitRemote, Resolved
from skillkit.install.source import FolderSource, GitSource, Source
from skillkit.install.tree import (
    SKILL_FILE,
    RepositoryTree,
    SkillTree,
    TreeLimits,
    read_folder,
    read_skills,
)

_MAX_HEADER_FILE = 1024 * 1024
LAYOUTS = "the root, skill/, skills/*/, plugins/*/skills/*/, */, .claude/skills/*/, .agents/skills/*/"


@dataclass(frozen=True, slots=True)
class Choice:
    """A skill that could be installed."""

    path: str
    name: str
    description: str


Chooser = Callable[[Sequence[Choice]], Sequence[str]]
"""Answers the paths of the choices that are wanted."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which skills of a source are meant."""

    names: tuple[str, ...] = ()
    everything: bool = False
    chooser: Chooser | None = None


@dataclass(frozen=True)
class FetchedSkill:
    """A skill in memory, complete and checked."""

    tree: SkillTree
    metadata: SkillMetadata
    subpath: str


@dataclass(frozen=True)
class Fetched:
    """What came from a source."""

    source: Source
    resolved: Resolved | None
    skills: tuple[FetchedSkill, ...]


def fetch(
    source: Source,
    wanted: Wanted,
    *,
    limits: TreeLimits | None = None,
    remote: Callable[[str], GitRemote] = GitRemote,
) -> Fetched:
    """The wanted skills of `source`."""
    if isinstance(source, FolderSource):
        return _from_folder(source, wanted, limits or TreeLimits())
    with remote(source.url) as opened:
        return from_remote(opened, source, wanted, limits or TreeLimits())


def from_remote(remote: GitRemote, source: GitSource, wanted: Wanted, limits: TreeLimits) -> Fetched:
    """The wanted skills of a repository that is already open."""
    resolved = remote.resolve(source.ref)
    remote.fetch(resolved.commit)
    tree = RepositoryTree(remote, resolved.commit)

    def headers(paths: Sequence[str]) -> list[bytes]:
        oids = [tree.file_oid(path, SKILL_FILE) for path in paths]
        remote.fetch_blobs(oids)
        total = sum(size[1] for size in remote.sizes(oids) if size is not None)
        if total > _MAX_HEADER_FILE * len(oids):
            raise InstallError(f"SKILL.md files of {source} are too large to choose from")
        return list(remote.read(oids, limit=total))

    paths = _chosen(source, tree.skill_folders(source.path), wanted, headers)
    skills = []
    for path, content in zip(paths, read_skills(remote, tree, paths, limits), strict=True):
        folder = path.rpartition("/")[2] or source.url.rpartition("/")[2].removesuffix(".git")
        skills.append(FetchedSkill(content, manifest(content.skill_file, folder), path))
    return Fetched(source, resolved, tuple(skills))


def _from_folder(source: FolderSource, wanted: Wanted, limits: TreeLimits) -> Fetched:
    def headers(paths: Sequence[str]) -> list[bytes]:
        return [(source.folder / path / SKILL_FILE).read_bytes()[:_MAX_HEADER_FILE] for path in paths]

    paths = _chosen(source, skill_folders(source.folder, source.path), wanted, headers)
    skills = []
    for path in paths:
        folder = source.folder / path
        content = read_folder(folder, limits)
        skills.append(FetchedSkill(content, manifest(content.skill_file, folder.name), path))
    return Fetched(source, None, tuple(skills))


def skill_folders(root: Path, start: str = "") -> list[str]:
    """Folders on disk that hold a SKILL.md where people put skills, the most direct first."""
    base = root / start
    patterns = (
        *(".", "skill", ".claude/skills/*", ".agents/skills/*"),
        *("plugins/*/skills/*", "skills/*", "*"),
    )
    found: list[str] = []
    for pattern in patterns:
        folders = [base] if pattern == "." else sorted(base.glob(pattern))
        for folder in folders:
            path = os.path.relpath(folder, root)
            path = "" if path == "." else path
            skill = folder / SKILL_FILE
            if path not in found and skill.is_file() and not skill.is_symlink():
                found.append(path)
    return found


def _chosen(
    source: Source,
    found: list[str],
    wanted: Wanted,
    headers: Callable[[Sequence[str]], list[bytes]],
) -> list[str]:
    if not found:
        raise InstallError(f"No skill in {source}. Looked for SKILL.md in {LAYOUTS}.")
    if wanted.names:
        return _named(source, found, wanted.names, headers)
    if wanted.everything:
        return found
    if found[0] == source.path or len(found) == 1:
        return found[:1]
    choices = _choices(found, headers(found))
    if wanted.chooser is None:
        names = [choice.name for choice in choices]
        raise ManyFoundError(
            f"{source} holds {len(names)} skills: {', '.join(names[:30])}"
            f"{' …' if len(names) > 30 else ''}. Say which with --skill NAME, or --all.",
            names,
        )
    picked = list(wanted.chooser(choices))
    if not picked:
        raise InstallError("Nothing was chosen, so nothing was installed.")
    return picked


def _named(
    source: Source,
    found: list[str],
    names: Sequence[str],
    headers: Callable[[Sequence[str]], list[bytes]],
) -> list[str]:
    by_folder = {canonical_name(path.rpartition("/")[2]): path for path in reversed(found)}
    by_name: dict[str, str] | None = None
    paths = []
    for name in names:
        path = by_folder.get(canonical_name(name))
        if path is None:
            if by_name is None:
                choices = _choices(found, headers(found))
                by_name = {canonical_name(choice.name): choice.path for choice in reversed(choices)}
            path = by_name.get(canonical_name(name))
        if path is None:
            known = ", ".join(sorted({*by_folder, *(by_name or {})} - {""})[:30])
            raise InstallError(f"{source} has no skill '{escape_hidden(name)}'. It has: {known}")
        paths.append(path)
    return list(dict.fromkeys(paths))


def _choices(paths: Sequence[str], contents: Sequence[bytes]) -> list[Choice]:
    choices = []
    for path, content in zip(paths, contents, strict=True):
        folder = path.rpartition("/")[2]
        try:
            metadata = manifest(content, folder or "skill")
            name, description = metadata.name, one_line(metadata.description)
        except InstallError as error:
            name, description = folder, str(error)
        choices.append(Choice(path, escape_hidden(name), escape_hidden(description)))
    return choices


def manifest(content: bytes, folder: str, *, recover: bool = False) -> SkillMetadata:
    """The manifest of a skill that is not on disk yet."""
    try:
        return SkillParser(recover=recover).parse(content, Path(folder, SKILL_FILE))
    except SkillParsingError as error:
        raise InstallError(f"The skill cannot be installed: {escape_hidden(str(error))}") from error
