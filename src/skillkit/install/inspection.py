"""Looking at what is installed: whether it is intact, and whether its source holds something newer."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillkit.core.models import SkillMetadata
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.changes import FileChange
from skillkit.install.context import InstallContext
from skillkit.install.exceptions import InstallError, reporting_disk_errors
from skillkit.install.fetch import manifest
from skillkit.install.placement import PlaceCheck, PlaceState
from skillkit.install.record import InstalledSkill
from skillkit.install.sources.source import OpenSource, Source, ask_each_source
from skillkit.install.tree import SkillTree

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Info:
    """Everything known of an installed skill."""

    skill: InstalledSkill
    metadata: SkillMetadata
    tree: SkillTree
    edits: tuple[FileChange, ...]

    @property
    def capabilities(self) -> Capabilities:
        return capabilities(self.tree, self.metadata)


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether an installed skill is byte for byte what was approved."""

    skill: InstalledSkill
    edits: tuple[FileChange, ...]
    places: tuple[PlaceCheck, ...] = ()
    """Where clients see it, and what is there."""

    @property
    def intact(self) -> bool:
        """Whether the files in the store are what was approved."""
        return not self.edits

    @property
    def strays(self) -> tuple[PlaceCheck, ...]:
        """The places that do not show what was approved."""
        return tuple(check for check in self.places if check.state is not PlaceState.CURRENT)


@dataclass(frozen=True, slots=True)
class Freshness:
    """An installed skill compared with its source."""

    skill: InstalledSkill
    latest: str | None = None
    """The revision of its source now."""
    outdated: bool = False
    """Whether its files are others there."""
    note: str = ""
    error: str = ""


@reporting_disk_errors()
def info(context: InstallContext, name: str) -> Info:
    """Everything about one installed skill, read from what is on disk now."""
    skill = context.registry.get(name)
    edits = tuple(context.store.edits(skill.stored, skill.files))
    tree = context.files(skill)
    return Info(skill, manifest(tree.skill_file, skill.name_canonical, recover=True), tree, edits)


@reporting_disk_errors()
def verify(context: InstallContext, names: Sequence[str] = ()) -> list[Verification]:
    """Compare installed skills with what was approved, byte for byte."""
    checks = []
    state = context.registry.load()
    for skill in state.selected(names):
        context.progress(f"Hashing {skill.name}")
        edits = tuple(context.store.edits(skill.stored, skill.files))
        places = context.registry.check_places(state, skill.name_canonical)
        checks.append(Verification(skill, edits, places))
    return checks


@reporting_disk_errors()
def outdated(context: InstallContext, names: Sequence[str] = ()) -> list[Freshness]:
    """Ask every source once, several at a time; one that does not answer is an error of its skills."""
    skills = context.registry.load().selected(names)

    def ask(source: Source, members: list[InstalledSkill]) -> list[Freshness]:
        if source.pinned:
            return [Freshness(skill, skill.revision, note="pinned to its version") for skill in members]
        try:
            with source.open(context.access) as opened:
                return [_compare(opened, skill, context.files(skill)) for skill in members]
        except InstallError as error:
            return [Freshness(skill, error=str(error)) for skill in members]

    answers = ask_each_source(skills, lambda skill: skill.source, ask, context.access, _AT_ONCE)
    order = {skill.name_canonical: place for place, skill in enumerate(skills)}
    return sorted(answers, key=lambda found: order[found.skill.name_canonical])


def _compare(opened: OpenSource, skill: InstalledSkill, stored: SkillTree) -> Freshness:
    now = opened.revision
    if now is not None and now == skill.revision:
        return Freshness(skill, now, note="; ".join(opened.notes))
    try:
        same = opened.holds(skill.subpath, stored)
    except InstallError as error:
        return Freshness(skill, now, error=str(error))
    return Freshness(skill, now, not same, "; ".join((*opened.notes, *opened.moved(skill.revision))))
