"""An installer, its home, a repository to install from, and a person who is asked."""

from pathlib import Path

import pytest
from skill_repositories import Repository

from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import Proposal

HEADER = "---\nname: pdf\ndescription: What pdf does.\n"


class Person:
    """Says yes or no, and remembers what was shown."""

    def __init__(self, *, says: bool = True) -> None:
        self.says = says
        self.asked: list[Proposal] = []

    def __call__(self, proposal: Proposal) -> bool:
        self.asked.append(proposal)
        return self.says

    @property
    def last(self) -> Proposal:
        return self.asked[-1]


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def installer(home: Path, person: Person) -> SkillInstaller:
    return SkillInstaller(home, consent=person)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "skills.git")


def text_of(home: Path, name: str) -> str:
    return (home / "skills" / name / "SKILL.md").read_text()


def nothing_left(home: Path) -> bool:
    return not (home / "store").exists() and not (home / "skills").exists()
