"""Looking at what is installed: what is there, whether it is intact, whether it is current."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.models import SkillMetadata
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.changes import FileChange
from skillkit.install.exceptions import reporting_disk_errors
from skillkit.install.fetch import manifest
from skillkit.install.history import Freshness, freshness
from skillkit.install.placement import PlaceCheck, PlaceState
from skillkit.install.proposal import AskConsent, refuse_unattended
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry
from skillkit.install.sources.source import Access
from skillkit.install.tree import ANY_SIZE, SkillTree, TreeLimits, read_folder


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


# Inside the classes `list` is the method of that name.
Skills = list[InstalledSkill]
Verifications = list[Verification]
Freshnesses = list[Freshness]


class InstallInspector:
    """Reads the registry, the store and the sources; changes nothing."""

    def __init__(
        self,
        home: Path | None = None,
        *,
        consent: AskConsent = refuse_unattended,
        limits: TreeLimits | None = None,
        progress: Callable[[str], object] = lambda text: None,
        access: Access | None = None,
        registry: InstallRegistry | None = None,
        journal: Writer = NO_JOURNAL,
    ) -> None:
        """`consent` is asked before those that build on this one change something."""
        self.consent = consent
        self.limits = limits or TreeLimits()
        self.registry = registry or InstallRegistry(
            home,
            on_wait=lambda: progress("Waiting for another agent that is installing"),
            journal=journal,
        )
        self.home = self.registry.home
        self.store = self.registry.store
        self.progress = progress
        self.access = access or Access(progress)

    @reporting_disk_errors()
    def list(self) -> Skills:
        """Every installed skill, by name."""
        return self.registry.list()

    @reporting_disk_errors()
    def info(self, name: str) -> Info:
        """Everything about one installed skill, read from what is on disk now."""
        skill = self.registry.get(name)
        edits = tuple(self.store.edits(skill.stored, skill.files))
        tree = self._files(skill)
        return Info(skill, manifest(tree.skill_file, skill.name_canonical, recover=True), tree, edits)

    @reporting_disk_errors()
    def verify(self, names: Sequence[str] = ()) -> Verifications:
        """Compare installed skills with what was approved, byte for byte."""
        checks = []
        state = self.registry.load()
        for skill in state.selected(names):
            self.progress(f"Hashing {skill.name}")
            edits = tuple(self.store.edits(skill.stored, skill.files))
            places = self.registry.check_places(state, skill.name_canonical)
            checks.append(Verification(skill, edits, places))
        return checks

    @reporting_disk_errors()
    def outdated(self, names: Sequence[str] = ()) -> Freshnesses:
        """Compare installed skills with their sources."""
        return freshness(self.registry.load().selected(names), self.access, self._files)

    def _files(self, skill: InstalledSkill) -> SkillTree:
        """The files of an installed skill as they are now."""
        return read_folder(self.store.path(skill.stored), ANY_SIZE)
