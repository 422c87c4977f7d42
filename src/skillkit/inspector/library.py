"""What the pages show, read from the same places as everything else and never twice at once."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.exceptions import SkillNotFoundError, SkillsUseError
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.disclosure import SkillContextProvider
from skillkit.disclosure.cost import CostReport, SkillCost, cost_report
from skillkit.evaluation.archive import ReportArchive
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.enabled import EnabledSkills, SkillStatus
from skillkit.install.fetch import manifest
from skillkit.install.record import InstalledSkill
from skillkit.install.tree import ANY_SIZE, SkillTree, read_folder
from skillkit.integrations.conversation import default_provider
from skillkit.journal import JournalReader, SkillUsage
from skillkit.journal.usage import UsageCounter
from skillkit.matching import SkillMatcher
from skillkit.matching.settings import Mode

PATIENCE = 0.05
"""Seconds that a page waits for a count; what takes longer is there at the next look."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The skills as they were at one look; pages of one look agree with each other."""

    version: int
    statuses: tuple[SkillStatus, ...]
    diagnostics: tuple[Diagnostic, ...]


class Library:
    """The skills of this machine with what they cost, did and may do."""

    def __init__(self, find: Callable[[], EnabledSkills], journal: Path, *, manage: bool = False) -> None:
        self._find = find
        self.manage = manage
        """Whether pages offer to enable, disable and trust."""
        self.enabled = find()
        self.manager = self.enabled.manager
        self.journal = JournalReader(journal)
        self.reports = ReportArchive(journal.parent / "tests")
        self.version = 0
        """Counts the changes that were seen on disk."""
        self._lock = threading.RLock()
        self._snapshot: Snapshot | None = None
        self._cost: tuple[int, CostReport] | None = None
        self._counting: threading.Thread | None = None
        self._uses = UsageCounter()
        self.counted = 0
        """The newest event that is in the uses."""
        self._pages: dict[str, tuple[object, str]] = {}
        self._counting_uses: threading.Thread | None = None
        self._matchers: dict[Mode, tuple[int, SkillMatcher]] = {}

    def warm(self) -> None:
        """Judge every skill in a thread, so that the first page finds it done or nearly so."""
        threading.Thread(target=self.snapshot, name="skillkit-inspector", daemon=True).start()

    def refresh(self) -> bool:
        """Look at the disk again; return whether anything changed."""
        with self._lock:
            changed = bool(self.manager.refresh())
            self.version += changed
            return changed

    def look_again(self) -> None:
        """Find everything anew, after what is enabled or trusted has changed."""
        with self._lock:
            self.enabled = self._find()
            self.manager = self.enabled.manager
            self.version += 1

    def snapshot(self) -> Snapshot:
        """Return what there is now; trust is judged once for each state of the skills."""
        with self._lock:
            if self._snapshot is None or self._snapshot.version != self.version:
                statuses = tuple(self.enabled.status(skill) for skill in self.manager.list_skills())
                self._snapshot = Snapshot(self.version, statuses, tuple(self.manager.diagnostics))
            return self._snapshot

    def status(self, name: str) -> SkillStatus:
        """Return one skill; raises SkillNotFoundError."""
        skill = self.manager.get_skill(name)
        for status in self.snapshot().statuses:
            if status.skill is skill or status.skill.base_dir == skill.base_dir:
                return status
        raise SkillNotFoundError(f"No skill '{name}'")

    def costs(self) -> CostReport | None:
        """Return what the skills cost; None until a thread has counted it for the first time."""
        with self._lock:
            if (self._cost is None or self._cost[0] != self.version) and self._counting is None:
                self._counting = threading.Thread(target=self._count, args=(self.version,), daemon=True)
                self._counting.start()
            return self._cost[1] if self._cost else None

    def _count(self, version: int) -> None:
        report = cost_report(self.manager)
        with self._lock:
            self._cost, self._counting = (version, report), None

    def usage(self) -> dict[str, SkillUsage]:
        """Return how skills were used, as far as it was counted; new events are counted by a thread."""
        with self._lock:
            if self._counting_uses is None:
                self._counting_uses = threading.Thread(target=self._count_uses, daemon=True)
                self._counting_uses.start()
            counting = self._counting_uses
        counting.join(PATIENCE)
        return self._uses.by_skill

    def remembered(self, name: str, make: Callable[[], str]) -> str:
        """Return a page that depends on skills, costs and uses alone; made anew when one of them changed."""
        state = (self.version, id(self._cost), self.counted)
        kept = self._pages.get(name)
        if kept is None or kept[0] != state:
            self._pages[name] = kept = (state, make())
        return kept[1]

    def _count_uses(self) -> None:
        for stored in self.journal.oldest_first(after=self.counted):
            self._uses.add(stored.event)
            self.counted = stored.id
        with self._lock:
            self._counting_uses = None

    def matcher(self, mode: Mode | None = None) -> SkillMatcher:
        """Return a matcher over the skills on offer, as the program would have it."""
        with self._lock:
            wanted = mode or SkillMatcher().mode
            kept = self._matchers.get(wanted)
            if kept is None or kept[0] != self.version:
                matcher = kept[1] if kept else SkillMatcher(mode=wanted)
                matcher.update(self.manager.offered_skills())
                self._matchers[wanted] = kept = (self.version, matcher)
            return kept[1]

    def provider(self) -> SkillContextProvider:
        """Return what every integration discloses these skills with."""
        return default_provider(self.manager)

    def card(self, skill: SkillMetadata) -> Capabilities | None:
        """Return what a skill brings and asks for; None where its folder cannot be read."""
        try:
            return capabilities(read_folder(skill.base_dir), skill)
        except (SkillsUseError, OSError):
            return None

    def stored_tree(self, record: InstalledSkill) -> tuple[SkillTree, Capabilities] | None:
        """Return the files of an installed version with their card; None where they are gone or damaged."""
        try:
            tree = read_folder(self.enabled.registry.store.path(record.stored), ANY_SIZE)
            return tree, capabilities(tree, manifest(tree.skill_file, record.name_canonical, recover=True))
        except (SkillsUseError, OSError):
            return None

    def diagnostics_of(self, skill: SkillMetadata) -> list[Diagnostic]:
        """Return what is wrong with a skill or with a file in its folder."""
        return [
            found
            for found in self.snapshot().diagnostics
            if found.path == skill.skill_path or skill.base_dir in found.path.parents
        ]


def cost_of(report: CostReport | None, skill: SkillMetadata) -> SkillCost | None:
    """Return the tokens of one skill."""
    if report is None:
        return None
    ids = {skill.canonical_name, skill.name}
    return next((cost for cost in report.skills if cost.id in ids), None)
