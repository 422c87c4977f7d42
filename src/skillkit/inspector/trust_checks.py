"""Status of skills, active and trusted: checked one by one in a thread, or immediately on request."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.install.enabled import EnabledSkills, SkillStatus

logger = logging.getLogger(__name__)

LONGEST_PAGE = 0.5
"""Seconds that a thread waits for pages before it continues."""


class PriorityGate:
    """Pauses background threads while a page is rendered."""

    def __init__(self) -> None:
        self._pages = 0
        self._lock = threading.Lock()
        self._none = threading.Event()
        self._none.set()

    @contextmanager
    def page(self) -> Iterator[None]:
        """Hold the threads while a page is made."""
        with self._lock:
            self._pages += 1
            self._none.clear()
        try:
            yield
        finally:
            with self._lock:
                self._pages -= 1
                if not self._pages:
                    self._none.set()

    def wait(self) -> None:
        """Wait for the pages, with a timeout, because a page may wait for a count made here."""
        self._none.wait(LONGEST_PAGE)


class TrustChecks:
    """Status of the skills of one snapshot; checking a skill reads all of its files."""

    def __init__(self, enabled: EnabledSkills, gate: PriorityGate) -> None:
        self.skills: tuple[SkillMetadata, ...] = tuple(enabled.manager.list_skills())
        self._enabled = enabled
        self._gate = gate
        self._found: dict[Path, SkillStatus] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._judge_all, name="skillkit-inspector", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop: there is a newer snapshot."""
        self._ended.set()

    def judge(self, skill: SkillMetadata) -> SkillStatus:
        """Return whether a skill is active and trusted, from its current files."""
        self._found[skill.skill_path] = status = self._enabled.status(skill)
        return status

    def known(self, skill: SkillMetadata) -> SkillStatus | None:
        """Return the status of a skill; None if it was not checked yet."""
        return self._found.get(skill.skill_path)

    @property
    def statuses(self) -> list[SkillStatus]:
        """All statuses so far, in the order of the skills."""
        return [status for skill in self.skills if (status := self.known(skill)) is not None]

    @property
    def waiting(self) -> int:
        """Skills that were not checked yet."""
        return len(self.skills) - len(self._found)

    def wait(self, seconds: float) -> bool:
        """Wait briefly until every skill was checked; return whether all were."""
        self._thread.join(seconds)
        return not self.waiting

    def _judge_all(self) -> None:
        for skill in self.skills:
            self._gate.wait()
            if self._ended.is_set():
                return
            if skill.skill_path not in self._found:
                try:
                    self.judge(skill)
                except SkillsUseError as error:
                    logger.warning("'%s' cannot be judged: %s", skill.name, error)
