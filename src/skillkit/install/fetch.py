"""From an open source to skills in memory: find them, choose, read and parse; nothing is written."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from skillkit.core.exceptions import SkillParsingError
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.parser import SkillParser
from skillkit.core.text import escape_hidden, one_line
from skillkit.install.exceptions import InstallError, ManyFoundError, UnsafeTreeError
from skillkit.install.paths import installed_identity, installed_name
from skillkit.install.sources.layout import LeftOut, Listing, other_spelling
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
    source: Source
    """Where it is, as it should be remembered."""
    revision: str | None

    @property
    def name(self) -> str:
        """What it is installed as, unless the user wants another name."""
        return installed_name(self.metadata.name)

    @property
    def installed_metadata(self) -> SkillMetadata:
        """The manifest with the name that the skill is installed as."""
        return replace(self.metadata, name=self.name)


@dataclass(frozen=True)
class Fetched:
    """What came from a source, and what of it was left out."""

    skills: tuple[FetchedSkill, ...]
    left_out: tuple[LeftOut, ...] = ()


def fetch(opened: OpenSource, start: str, wanted: Wanted, limits: TreeLimits) -> Fetched:
    """Return the wanted skills beneath `start`; one of many that cannot be used costs only itself."""
    listing = opened.listing(start)
    paths = _chosen(opened, start, listing, wanted)
    skills, left_out = [], list(listing.left_out) if wanted.everything else []
    for path, found in zip(paths, _read(opened, paths, limits), strict=True):
        if isinstance(found, FetchedSkill):
            skills.append(found)
        elif len(paths) == 1 or not wanted.everything:
            raise found
        else:
            left_out.append(LeftOut(path, str(found)))
    return Fetched(tuple(skills), tuple(left_out))


def fetch_at(opened: OpenSource, path: str, limits: TreeLimits) -> FetchedSkill:
    """Return the skill in the folder `path` of the source."""
    (found,) = _read(opened, [path], limits)
    if isinstance(found, InstallError):
        raise found
    return found


def _read(
    opened: OpenSource, paths: Sequence[str], limits: TreeLimits
) -> Iterator[FetchedSkill | InstallError]:
    for path, tree in zip(paths, opened.read(paths, limits), strict=True):
        if isinstance(tree, InstallError):
            yield tree
            continue
        source = opened.followed.within(path)
        if SKILL_FILE not in tree.files:
            odd = other_spelling(tree.files)
            reason = f"its {SKILL_FILE} is {odd}" if odd else f"it holds no {SKILL_FILE}"
            yield InstallError(f"There is no skill in {source} any more: {reason}")
            continue
        folder = path.rpartition("/")[2] or source.root_name
        try:
            yield FetchedSkill(tree, manifest(tree.skill_file, folder), source, opened.revision)
        except InstallError as error:
            inside = sorted(file.removesuffix(f"/{SKILL_FILE}") for file in tree.files if "/" in file)
            nested = [file for file in inside if f"{file}/{SKILL_FILE}" in tree.files]
            yield InstallError(f"{error}. Left out with it: {_listed(nested)}") if nested else error


def _chosen(opened: OpenSource, start: str, listing: Listing, wanted: Wanted) -> Sequence[str]:
    found, source = listing.folders, opened.followed.within(start)
    if not found:
        reasons = "".join(f"\n  {left}" for left in listing.left_out[:_SHOWN])
        if len(listing.left_out) > _SHOWN:
            reasons += f"\n  … and {len(listing.left_out) - _SHOWN:,} more"
        kind = UnsafeTreeError if any(left.refused for left in listing.left_out) else InstallError
        raise kind(f"No skill in {source}: no folder in it holds a {SKILL_FILE}.{reasons}")
    if wanted.names:
        return _named(opened, source, found, wanted.names)
    if wanted.everything:
        return found
    if found[0] == start or len(found) == 1:
        return found[:1]
    choices = list_choices(opened, found)
    if wanted.chooser is None:
        names = [choice.name for choice in choices]
        raise ManyFoundError(f"{source} holds {len(names)} skills: {_listed(names)}.", names)
    picked = list(wanted.chooser(choices))
    if not picked:
        raise InstallError("Nothing was chosen, so nothing was installed.")
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
    """Return name and description of each skill; what is wrong with it in place of a description."""
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
    """The manifest of a skill that is not on disk yet; one that had to be guessed only with `recover`."""
    try:
        found = SkillParser(recover=True).parse(content, Path(folder, SKILL_FILE))
        if not recover and any(note.code in _GUESSED for note in found.diagnostics):
            SkillParser().parse(content, Path(folder, SKILL_FILE))  # raises, and says what is wrong
        return found
    except SkillParsingError as error:
        raise InstallError(f"The skill cannot be installed: {escape_hidden(str(error))}") from error
