"""Load skills from an open source into memory: find, choose, read, parse; nothing is written."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from skillkit.core.exceptions import SkillParsingError
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.parser import SkillParser
from skillkit.core.text import escape_hidden, one_line
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.changes import FileChange
from skillkit.install.exceptions import InstallError, Remedy, SourceError, UnsafeTreeError
from skillkit.install.paths import installable, installed_identity, installed_name
from skillkit.install.record import InstalledSkill
from skillkit.install.sources.layout import Listing, Skipped, other_spelling
from skillkit.install.sources.source import OpenSource, Source
from skillkit.install.tree import SKILL_FILE, SkillTree, TreeLimits

_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Choice:
    """A skill that could be installed."""

    path: str
    name: str
    description: str
    mended_from: str = ""
    """The title in SKILL.md of which the name was made."""


Chooser = Callable[[Sequence[Choice]], Sequence[str]]
"""Return the paths of the choices that are wanted."""


@dataclass(frozen=True, slots=True)
class SkillSelector:
    """Selects skills of a source: by name, all, or by a chooser."""

    names: tuple[str, ...] = ()
    everything: bool = False
    chooser: Chooser | None = None


@dataclass(frozen=True)
class LoadedSkill:
    """A skill in memory, complete and checked: its record, its bytes and its header."""

    skill: InstalledSkill
    tree: SkillTree
    metadata: SkillMetadata
    edits: tuple[FileChange, ...] = ()
    """Local edits, if the bytes were read from the store."""

    @property
    def capabilities(self) -> Capabilities:
        return capabilities(self.tree, self.metadata)

    @classmethod
    def of(
        cls, tree: SkillTree, metadata: SkillMetadata, source: Source, revision: str | None
    ) -> "LoadedSkill":
        """Return a skill that is not installed, under the name derived from SKILL.md."""
        name, files = installed_name(metadata.name), tree.digest.files
        skill = InstalledSkill(name, canonical_name(name), tree.digest.digest, files, source, revision)
        return cls(skill, tree, metadata)

    def named(self, name: str | None = None) -> "LoadedSkill":
        """Return the skill as it will be installed; `name` replaces the one in SKILL.md."""
        chosen = name or self.skill.name
        if not installable(chosen):
            raise InstallError(
                f"'{escape_hidden(chosen)}' cannot be the name of an installed skill (letters, digits, "
                "hyphens, at most 64)" + (". Choose another one." if name else ""),
                remedy=None if name else Remedy.ANOTHER_NAME,
            )
        canonical, declared = canonical_name(chosen), self.metadata.name
        other = canonical_name(declared) != canonical or not installable(declared)
        record = replace(
            self.skill, name=chosen, name_canonical=canonical, declared_name=declared if other else ""
        )
        return replace(self, skill=record)


@dataclass(frozen=True)
class FetchResult:
    """Skills fetched from a source, and those skipped."""

    skills: tuple[LoadedSkill, ...]
    left_out: tuple[Skipped, ...] = ()


def fetch(opened: OpenSource, start: str, wanted: SkillSelector, limits: TreeLimits) -> FetchResult:
    """Return the wanted skills beneath `start`; an invalid one among many is skipped."""
    listing = opened.listing(start)
    paths = _chosen(opened, start, listing, wanted)
    skills, left_out = [], list(listing.left_out) if wanted.everything else []
    for path, found in zip(paths, _read(opened, paths, limits), strict=True):
        if isinstance(found, LoadedSkill):
            skills.append(found)
        elif len(paths) == 1 or not wanted.everything:
            raise found
        else:
            left_out.append(Skipped(path, str(found)))
    return FetchResult(tuple(skills), tuple(left_out))


def fetch_at(opened: OpenSource, path: str, limits: TreeLimits) -> LoadedSkill:
    """Return the skill in the folder `path` of the source."""
    (found,) = _read(opened, [path], limits)
    if isinstance(found, InstallError):
        raise found
    return found


def _read(
    opened: OpenSource, paths: Sequence[str], limits: TreeLimits
) -> Iterator[LoadedSkill | InstallError]:
    for path, tree in zip(paths, opened.read(paths, limits), strict=True):
        if isinstance(tree, InstallError):
            yield tree
            continue
        source = opened.followed.within(path)
        if SKILL_FILE not in tree.files:
            odd = other_spelling(tree.files)
            reason = f"its {SKILL_FILE} is {odd}" if odd else f"no {SKILL_FILE}"
            yield InstallError(f"{source} no longer has a skill: {reason}")
            continue
        folder = path.rpartition("/")[2] or source.root_name
        try:
            yield LoadedSkill.of(tree, manifest(tree.skill_file, folder), source, opened.revision)
        except InstallError as error:
            inside = sorted(file.removesuffix(f"/{SKILL_FILE}") for file in tree.files if "/" in file)
            nested = [file for file in inside if f"{file}/{SKILL_FILE}" in tree.files]
            yield InstallError(f"{error}. Left out with it: {_listed(nested)}") if nested else error


def _chosen(opened: OpenSource, start: str, listing: Listing, wanted: SkillSelector) -> Sequence[str]:
    found, source = listing.folders, opened.followed.within(start)
    if not found:
        reasons = "".join(f"\n  {left}" for left in listing.left_out[:_SHOWN])
        if len(listing.left_out) > _SHOWN:
            reasons += f"\n  … and {len(listing.left_out) - _SHOWN:,} more"
        kind = UnsafeTreeError if any(left.refused for left in listing.left_out) else InstallError
        raise kind(f"No skill found in {source}: no folder has a {SKILL_FILE}.{reasons}")
    if wanted.names:
        return _named(opened, source, found, wanted.names)
    if wanted.everything:
        return found
    if found[0] == start or len(found) == 1:
        return found[:1]
    choices = list_choices(opened, found)
    if wanted.chooser is None:
        names = [choice.name for choice in choices]
        message = f"{source} holds {len(names)} skills: {_listed(names)}."
        raise SourceError(message, remedy=Remedy.CHOOSE, code="many-found")
    picked = list(wanted.chooser(choices))
    if not picked:
        raise InstallError("No skill chosen; nothing was installed.")
    return picked


def _named(opened: OpenSource, source: Source, found: Sequence[str], names: Sequence[str]) -> list[str]:
    by_folder = {installed_identity(path.rpartition("/")[2]): path for path in reversed(found)}
    by_name: dict[str, str] | None = None
    paths = []
    for name in names:
        identity = installed_identity(name)
        path = by_folder.get(identity)
        if path is None:
            if by_name is None:
                choices = list_choices(opened, found)
                by_name = {canonical_name(choice.name): choice.path for choice in reversed(choices)}
            path = by_name.get(identity)
        if path is None:
            known = sorted({*by_folder, *(by_name or {})} - {""})
            near = get_close_matches(identity, known, 3, 0.5)
            near += [other for other in known if identity in other and other not in near]
            hint = f" Near it: {_listed(near)}." if near else ""
            raise InstallError(
                f"{source} has no skill '{escape_hidden(name)}'.{hint} It has: {_listed(known)}"
            )
        paths.append(path)
    return list(dict.fromkeys(paths))


def _listed(names: Sequence[str]) -> str:
    more = f" … and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def list_choices(opened: OpenSource, paths: Sequence[str]) -> list[Choice]:
    """Return name and description of each skill; for a broken one the error instead."""
    choices = []
    for path, content in zip(paths, opened.headers(paths), strict=True):
        folder = path.rpartition("/")[2] or opened.followed.root_name
        try:
            metadata = manifest(content, folder)
            name, description = installed_name(metadata.name), one_line(metadata.description)
            title = metadata.name if metadata.name != name else ""
        except InstallError as error:
            name, description, title = folder, str(error), ""
        choices.append(Choice(path, *map(escape_hidden, (name, description, title))))
    return choices


_GUESSED = ("broken-field", "no-header", "unterminated-header")
"""A missing name is shown on the card and taken from the folder; these are too much of a guess."""


def manifest(content: bytes, folder: str, *, recover: bool = False) -> SkillMetadata:
    """Parse the manifest of a skill that is not on disk yet; guess a broken one only with `recover`."""
    try:
        found = SkillParser(recover=True).parse(content, Path(folder, SKILL_FILE))
        if not recover and any(note.code in _GUESSED for note in found.diagnostics):
            SkillParser().parse(content, Path(folder, SKILL_FILE))  # raises the specific error
        return found
    except SkillParsingError as error:
        raise InstallError(f"The skill cannot be installed: {escape_hidden(str(error))}") from error
