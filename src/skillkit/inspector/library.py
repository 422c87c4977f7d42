"""What the pages show, read from the same places as everything else and never twice at once."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillkit.core.disk import file_stamp
from skillkit.core.exceptions import SkillsUseError, StateFileError
from skillkit.core.manager import SkillManager
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.disclosure import SkillContextProvider
from skillkit.disclosure.cost import CostReport, SkillCost, cost_report
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.evaluation.archive import ReportArchive
from skillkit.inspector.judging import Judgements, PagesFirst
from skillkit.install.added_sources import FILE as ADDED_SOURCES
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.enabled import EnabledSkills, SkillStatus
from skillkit.install.fetch import manifest
from skillkit.install.record import InstalledSkill
from skillkit.install.tree import ANY_SIZE, SkillTree, read_folder
from skillkit.integrations.default_tools import default_provider, default_sources
from skillkit.journal import JournalReader, SkillUsage
from skillkit.journal.usage import UsageCounter
from skillkit.matching import Match, SkillMatcher
from skillkit.matching.settings import Mode
from skillkit.scripts import ScriptTools

PATIENCE = 0.02
"""Seconds that a page waits for new events to be counted; what takes longer is there at the next look."""
WHOLE_LIBRARY = 60.0
"""Seconds after which counting begins though not every skill was judged."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The skills as they were at one look; pages of one look agree with each other."""

    version: int
    judgements: Judgements
    diagnostics: tuple[Diagnostic, ...]

    @property
    def skills(self) -> tuple[SkillMetadata, ...]:
        return self.judgements.skills


class Library:
    """The skills of this machine with what they cost, did and may do."""

    def __init__(
        self, find: Callable[[], EnabledSkills], journal: Path, *, manage: bool = False, system: str = ""
    ) -> None:
        """`system` is what the program itself says to a model, before anything about skills."""
        self._find = find
        self.system = system
        self.manage = manage
        """Whether pages offer to enable, disable and trust."""
        self.enabled = find()
        self.manager = self.enabled.manager
        self.journal = JournalReader(journal)
        self.reports = ReportArchive(journal.parent / "tests")
        self.version = 0
        """Counts the changes that were seen on disk."""
        self.pages_first = PagesFirst()
        self._lock = threading.RLock()
        self._records = self._stamp_of_records()
        self._snapshot: Snapshot | None = None
        self._cost: tuple[int, CostReport] | None = None
        self._counting: threading.Thread | None = None
        self._uncounted = -1
        self._uses = UsageCounter()
        self._all_counted = False
        self.counted = 0
        """The newest event that is in the uses."""
        self._counting_uses: threading.Thread | None = None
        self._matching = threading.Lock()
        """Held while skills are indexed; nothing but requests waits for that."""
        self._matchers: dict[tuple[Mode, bool], tuple[int, SkillMatcher]] = {}
        self._providers: dict[Mode, tuple[SkillManager, SkillContextProvider]] = {}

    def refresh(self) -> bool:
        """Look at the disk again; return whether anything changed."""
        with self._lock:
            if (records := self._stamp_of_records()) != self._records:
                self._records = records
                self.look_again()
                return True
            changed = bool(self.manager.refresh())
            self.version += changed
            return changed

    def look_again(self) -> None:
        """Find everything anew, after what is enabled or trusted has changed."""
        with self._lock:
            self.enabled = self._find()
            self.manager = self.enabled.manager
            self.version += 1

    def _stamp_of_records(self) -> list[object]:
        """Return what changes when another process installs, enables or trusts a skill."""
        registry = self.enabled.registry
        files = (registry.file.path, registry.consents.file.path, registry.home / ADDED_SOURCES)
        return [file_stamp(path) for path in files]

    def snapshot(self) -> Snapshot:
        """Return what there is now, at once; whether skills are trusted is judged meanwhile."""
        with self._lock:
            if self._snapshot is None or self._snapshot.version != self.version:
                if self._snapshot is not None:
                    self._snapshot.judgements.end()
                judgements = Judgements(self.enabled, self.pages_first)
                self._snapshot = Snapshot(self.version, judgements, tuple(self.manager.diagnostics))
            return self._snapshot

    def status(self, name: str) -> SkillStatus:
        """Return one skill as it is this moment; raises SkillNotFoundError."""
        return self.snapshot().judgements.judge(self.manager.get_skill(name))

    def refused(self, request: str, mode: Mode | None, limit: int) -> list[tuple[Match, SkillStatus]]:
        """Return the skills nearest to a request that may not be used, scored as if all known ones might."""
        offered = {skill.skill_path for skill in self.manager.offered_skills()}
        if all(skill.skill_path in offered for skill in self.manager.list_skills()):
            return []
        judgements = self.snapshot().judgements
        return [
            (match, judgements.known(match.skill) or judgements.judge(match.skill))
            for match in self.matcher(mode, known=True).rank(request, limit)
            if match.score > 0 and match.skill.skill_path not in offered
        ]

    @property
    def progress(self) -> tuple[int, bool, bool]:
        """Return how far the threads have come; it changes when a page can show more than before."""
        waiting = self._snapshot.judgements.waiting if self._snapshot else 0
        return waiting, self._current_costs() is not None, self._all_counted

    def costs(self) -> CostReport | None:
        """Return what the skills cost; None until a thread has counted it."""
        with self._lock:
            known = self._current_costs()
            if known is None and self._counting is None and self._uncounted != self.version:
                self._counting = threading.Thread(target=self._count, args=(self.version,), daemon=True)
                self._counting.start()
            return known

    def _current_costs(self) -> CostReport | None:
        return self._cost[1] if self._cost and self._cost[0] == self.version else None

    def _count(self, version: int) -> None:
        self.snapshot().judgements.wait(WHOLE_LIBRARY)  # what is judged can be shown sooner
        self._uncounted = version  # should it fail: said once, and not tried again until something changes
        try:
            self._cost = (
                version,
                cost_report(self.manager, counter=_PatientCounter(pages_first=self.pages_first)),
            )
            self.matcher().prepare()  # the first request that somebody types finds it indexed
            self.provider().prepare()
        finally:
            with self._lock:
                self._counting = None

    def usage(self) -> Mapping[str, SkillUsage] | None:
        """Return how skills were used; None until a thread has read the whole journal once."""
        with self._lock:
            if self._counting_uses is None:
                self._counting_uses = threading.Thread(target=self._count_uses, daemon=True)
                self._counting_uses.start()
            counting = self._counting_uses
        if not self._all_counted:
            return None
        counting.join(PATIENCE)
        return self._uses.by_skill

    def _count_uses(self) -> None:
        try:
            for stored in self.journal.oldest_first(after=self.counted):
                if not self._all_counted:
                    self.pages_first.wait()
                self._uses.add(stored.event)
                self.counted = stored.id
            self._all_counted = True
        except StateFileError as error:
            logger.warning("%s", error)
        finally:
            with self._lock:
                self._counting_uses = None

    def matcher(self, mode: Mode | None = None, *, known: bool = False) -> SkillMatcher:
        """Return a matcher over the skills on offer, as the program would have it, or over all `known`."""
        with self._matching:
            wanted = mode or SkillMatcher().mode
            kept = self._matchers.get((wanted, known))
            if kept is None or kept[0] != self.version:
                matcher = kept[1] if kept else SkillMatcher(mode=wanted)
                matcher.update(self.manager.list_skills() if known else self.manager.offered_skills())
                self._matchers[wanted, known] = kept = (self.version, matcher)
            return kept[1]

    def provider(self, mode: Mode | None = None) -> SkillContextProvider:
        """Return what every integration discloses these skills with; with `mode`, matched in that way."""
        manager = self.manager
        if mode is None:
            return default_provider(manager)
        with self._matching:
            known = self._providers.get(mode)
            if known is None or known[0] is not manager:
                sources = default_sources(manager, ScriptTools(manager))
                made = SkillContextProvider(manager, matcher=SkillMatcher(mode=mode), tool_sources=sources)
                self._providers[mode] = known = (manager, made)
            return known[1]

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


@dataclass(frozen=True, slots=True)
class _PatientCounter(TokenEstimator):
    """Counts as everybody does, after the pages that somebody waits for."""

    pages_first: PagesFirst = field(default_factory=PagesFirst)

    def count(self, text: str) -> int:
        self.pages_first.wait()
        return TokenEstimator.count(self, text)


def cost_of(report: CostReport | None, skill: SkillMetadata) -> SkillCost | None:
    """Return the tokens of one skill."""
    if report is None:
        return None
    ids = {skill.canonical_name, skill.name}
    return next((cost for cost in report.skills if cost.id in ids), None)
