"""Data of the pages, from the same sources as the program, each computed once at a time."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import NamedTuple

from skillkit.core.disk import file_stamp
from skillkit.core.events import Event, Kind
from skillkit.core.exceptions import SkillsUseError, StateFileError
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.disclosure.cost import CostReport, SkillCost, cost_report
from skillkit.disclosure.disclosed import TokenUse
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.evaluation.archive import ReportArchive
from skillkit.inspector.background import Background
from skillkit.inspector.scoring import AS_IT_IS, Assumption, RequestScorer
from skillkit.inspector.trust_checks import PriorityGate, TrustChecks
from skillkit.install.added_sources import FILE as ADDED_SOURCES
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.enabled import EnabledSkills, SkillStatus
from skillkit.install.fetch import manifest
from skillkit.install.record import InstalledSkill
from skillkit.install.tree import ANY_SIZE, SkillTree, read_folder
from skillkit.journal import EventFilter, JournalReader, SkillUsage
from skillkit.journal.reading import StoredEvent
from skillkit.journal.usage import UsageCounter
from skillkit.matching import Match, SkillMatcher

PATIENCE = 0.02
"""Seconds that a page waits for new events to be counted; what takes longer is there at the next look."""
WHOLE_LIBRARY = 60.0
"""Seconds after which counting begins though not every skill was checked."""
LATEST_REQUESTS = 20
"""Number of stored requests that are matched again with skills that were not on offer."""
USES = {
    Kind.MATCHED: ("requests", "requests"),
    Kind.LOADED: ("loaded", "loaded by the model"),
    Kind.SCRIPT_RUN: ("runs", "scripts run"),
    Kind.REFUSED: ("refused", "refused"),
}
"""The events counted by day, each with its part of a column and its label."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of the skills; pages of one snapshot agree with each other."""

    version: int
    checks: TrustChecks
    diagnostics: tuple[Diagnostic, ...]

    @property
    def skills(self) -> tuple[SkillMetadata, ...]:
        return self.checks.skills


class LibraryCost(NamedTuple):
    """Cost of the skills."""

    report: CostReport
    every_prompt: TokenUse
    """Cost of a request without any skill."""


class MissedSkill(NamedTuple):
    """A skill that matches a past request and may not be used."""

    match: Match
    request: str


class Library:
    """The skills of this machine with their cost, history and permissions."""

    def __init__(
        self, find: Callable[[], EnabledSkills], journal: Path, *, manage: bool = False, system: str = ""
    ) -> None:
        """`system` is the program's own system prompt, without skills."""
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
        self.gate = PriorityGate()
        self._lock = threading.RLock()
        self._records = self._stamp_of_records()
        self._snapshot: Snapshot | None = None
        self._costs = Background(self._count)
        self.tried_again = Background(self._try_again)
        self._scorer = RequestScorer()
        self._uses = UsageCounter()
        self.by_day: Counter[tuple[date, Kind]] = Counter()
        self._all_counted = False
        self.counted = 0
        """The newest event that is in the uses."""
        self._counting_uses: threading.Thread | None = None

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
        """Compute everything again, after skills were enabled or trusted."""
        with self._lock:
            self.enabled = self._find()
            self.manager = self.enabled.manager
            self.version += 1

    def _stamp_of_records(self) -> list[object]:
        """Return a stamp that changes when another process installs, enables or trusts a skill."""
        registry = self.enabled.registry
        files = (registry.file.path, registry.consents.file.path, registry.home / ADDED_SOURCES)
        return [file_stamp(path) for path in files]

    def snapshot(self) -> Snapshot:
        """Return the current snapshot immediately; trust is checked in the background."""
        with self._lock:
            if self._snapshot is None or self._snapshot.version != self.version:
                if self._snapshot is not None:
                    self._snapshot.checks.end()
                checks = TrustChecks(self.enabled, self.gate)
                self._snapshot = Snapshot(self.version, checks, tuple(self.manager.diagnostics))
            return self._snapshot

    def status(self, name: str) -> SkillStatus:
        """Return one skill as it is this moment; raises SkillNotFoundError."""
        return self.snapshot().checks.judge(self.manager.get_skill(name))

    def refused(
        self, request: str, limit: int, assumed: Assumption = AS_IT_IS
    ) -> list[tuple[Match, SkillStatus]]:
        """Return the nearest skills that may not be used, scored as if all known ones were on offer."""
        offered = {skill.skill_path for skill in self.manager.offered_skills()}
        if all(skill.skill_path in offered for skill in self.manager.list_skills()):
            return []
        checks = self.snapshot().checks
        return [
            (match, checks.known(match.skill) or checks.judge(match.skill))
            for match in self.matcher(assumed, known=True).rank(request, limit)
            if match.score > 0 and match.skill.skill_path not in offered
        ]

    def missed(self, request: str, assumed: Assumption = AS_IT_IS) -> list[Match]:
        """Return the skills that `request` would bring in if all known ones were active, and that may not be
        used."""
        offered = {skill.skill_path for skill in self.manager.offered_skills()}
        matches = self.matcher(assumed, known=True).explain(request).matches
        return [match for match in matches if match.skill.skill_path not in offered]

    @property
    def progress(self) -> tuple[int, bool, bool]:
        """Return how far the threads have come; it changes when a page can show more than before."""
        waiting = self._snapshot.checks.waiting if self._snapshot else 0
        return waiting, self._costs.has(self.version), self._all_counted

    def costs(self) -> LibraryCost | None:
        """Return what the skills cost; None until a thread has counted it."""
        return self._costs.get(self.version)

    def _count(self) -> LibraryCost:
        self.snapshot().checks.wait(WHOLE_LIBRARY)  # checked skills can be shown sooner
        report = cost_report(self.manager, counter=_BackgroundCounter(gate=self.gate))
        self.matcher().prepare()  # index before the first request is typed
        return LibraryCost(report, self.provider().disclose("", SkillSession()).tokens)

    def overlooked(self) -> list[MissedSkill]:
        """Return skills that would have fitted the latest requests, as far as a thread has tried them."""
        newest = self.newest(Kind.MATCHED, limit=1)
        self.tried_again.get((self.version, newest[0].id if newest else 0))
        return self.tried_again.latest or []

    def _try_again(self) -> list[MissedSkill]:
        best: dict[str, MissedSkill] = {}
        for stored in self.newest(Kind.MATCHED, limit=LATEST_REQUESTS):
            self.gate.wait()
            text = request_text(stored.event)
            for match in self.missed(text) if text else ():
                known = best.get(match.skill.canonical_name)
                if known is None or known.match.score < match.score:
                    best[match.skill.canonical_name] = MissedSkill(match, text)
        return sorted(best.values(), key=lambda one: -one.match.score)

    def newest(self, *kinds: Kind, limit: int, before: int | None = None, **wanted: str) -> list[StoredEvent]:
        """Return the newest events of some kinds, each found by the index of its kind."""
        found = [
            stored
            for kind in kinds
            for stored in self.journal.events(
                EventFilter(kinds=(kind,), **wanted),  # type: ignore[arg-type]
                before=before,
                limit=limit,
            )
        ]
        return sorted(found, key=lambda stored: -stored.id)[:limit]

    def event(self, identity: int) -> StoredEvent | None:
        """Return one event by its number."""
        found = self.journal.since(identity - 1, 1)
        return found[0] if found and found[0].id == identity else None

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
                    self.gate.wait()
                self._uses.add(stored.event)
                if stored.event.kind in USES:
                    self.by_day[date.fromtimestamp(stored.event.time), stored.event.kind] += 1
                self.counted = stored.id
            self._all_counted = True
        except StateFileError as error:
            logger.warning("%s", error)
        finally:
            with self._lock:
                self._counting_uses = None

    def matcher(self, assumed: Assumption = AS_IT_IS, *, known: bool = False) -> SkillMatcher:
        """Return a matcher over the skills on offer, as the program would have it, or over all `known`."""
        return self._scorer.matcher(self.manager, self.version, assumed, known=known)

    def provider(self, assumed: Assumption = AS_IT_IS) -> SkillContextProvider:
        """Return what every integration discloses these skills with."""
        return self._scorer.provider(self.manager, self.version, assumed)

    def card(self, skill: SkillMetadata) -> Capabilities | None:
        """Return what a skill brings and asks for; None where its folder cannot be read."""
        try:
            return capabilities(read_folder(skill.base_dir), skill)
        except (SkillsUseError, OSError):
            return None

    def stored_tree(self, record: InstalledSkill) -> tuple[SkillTree, Capabilities, str] | None:
        """Return the files of an installed version with their card and the version that the header declares;
        None where they are gone or damaged."""
        try:
            tree = read_folder(self.enabled.registry.store.path(record.stored), ANY_SIZE)
            skill = manifest(tree.skill_file, record.name_canonical, recover=True)
            return tree, capabilities(tree, skill), skill.version or record.version
        except (SkillsUseError, OSError):
            return None

    def diagnostics_of(self, skill: SkillMetadata) -> list[Diagnostic]:
        """Return diagnostics of a skill or of a file in its folder."""
        return [
            found
            for found in self.snapshot().diagnostics
            if found.path == skill.skill_path or skill.base_dir in found.path.parents
        ]


@dataclass(frozen=True, slots=True)
class _BackgroundCounter(TokenEstimator):
    """Counts tokens at lower priority than pages."""

    gate: PriorityGate = field(default_factory=PriorityGate)

    def count(self, text: str) -> int:
        self.gate.wait()
        return TokenEstimator.count(self, text)


def cost_of(costs: LibraryCost | None, skill: SkillMetadata) -> SkillCost | None:
    """Return the tokens of one skill."""
    if costs is None:
        return None
    ids = {skill.canonical_name, skill.name}
    return next((cost for cost in costs.report.skills if cost.id in ids), None)


def request_text(event: Event) -> str:
    """Return the words of a request, where texts are kept."""
    request = event.data.get("request")
    text = request.get("text") if isinstance(request, dict) else None
    return text if isinstance(text, str) else ""
