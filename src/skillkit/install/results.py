"""What became of a request to install, look or update."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.install.fetch import Choice
from skillkit.install.record import InstalledSkill
from skillkit.install.sources.layout import LeftOut


class AddedSkills(list[InstalledSkill]):
    """The skills that are installed now, and what of the source was left out."""

    def __init__(
        self, skills: Iterable[InstalledSkill], left_out: Iterable[LeftOut], approved: tuple[Path, ...] = ()
    ) -> None:
        super().__init__(skills)
        self.left_out = tuple(left_out)
        self.approved = approved
        """Folders that were approved where they are, without being installed."""


@dataclass(frozen=True, slots=True)
class Offered:
    """What a source holds."""

    choices: tuple[Choice, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of one skill of many that were updated."""

    name: str
    before: InstalledSkill | None = None
    after: InstalledSkill | None = None
    error: SkillsUseError | None = None
