"""Whether skills are active and trusted: judged one after the other by a thread, or at once when asked."""

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
"""Seconds that a thread waits for pages before it goes on."""


class PagesFirst:
    """Makes the threads that judge and count wait while a page is being made for somebody who waits."""

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
        """Wait for the pages; not for ever, because a page may wait for what is counted here."""
        self._none.wait(LONGEST_PAGE)


class Judgements:
    """What was found out about the skills of one look; to judge a skill takes reading all of its files."""

    def __init__(self, enabled: EnabledSkills, pages_first: PagesFirst) -> None:
        self.skills: tuple[SkillMetadata, ...] = tuple(enabled.manager.list_skills())
        self._enabled = enabled
        self._pages_first = pages_first
        self._found: dict[Path, SkillStatus] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._judge_all, name="skillkit-inspector", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop: there has been another look."""
        self._ended.set()

    def judge(self, skill: SkillMetadata) -> SkillStatus:
        """Return whether a skill is active and trusted, as it is on disk this moment."""
        self._found[skill.skill_path] = status = self._enabled.status(skill)
        return status

    def known(self, skill: SkillMetadata) -> SkillStatus | None:
        """Return what was found out about a skill; None for one that nobody has looked at yet."""
        return self._found.get(skill.skill_path)

    @property
    def statuses(self) -> list[SkillStatus]:
        """What was found out so far, in the order of the skills."""
        return [status for skill in self.skills if (status := self.known(skill)) is not None]

    @property
    def waiting(self) -> int:
        """Skills that nobody has looked at yet."""
        return len(self.skills) - len(self._found)

    def wait(self, seconds: float) -> bool:
        """Wait until every skill was judged, but not for long; return whether that came about."""
        self._thread.join(seconds)
        return not self.waiting

    def _judge_all(self) -> None:
        for skill in self.skills:
            self._pages_first.wait()
            if self._ended.is_set():
                return
            if skill.skill_path not in self._found:
                try:
                    self.judge(skill)
                except SkillsUseError as error:
                    logger.warning("'%s' cannot be judged: %s", skill.name, error)
