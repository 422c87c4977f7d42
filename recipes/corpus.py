"""Take every SKILL.md of a folder through all that skillkit does with one, and count what goes wrong.

    python3 dev.py corpus FOLDER        a folder of skills, or of archives (*.tar.xz) that hold them

Nothing of the files is installed or run. The exit code is 0 when nothing foreign was raised, no file was slow
and no two commands disagreed; files that cannot be loaded are counted, and are nobody's fault but their own.
"""

import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.parser import SkillParser
from skillkit.core.skill import Skill
from skillkit.core.walk import SkillWalk
from skillkit.evaluation.validation import validate_file
from skillkit.install.capabilities import capabilities
from skillkit.install.fetch import manifest
from skillkit.install.tree import read_folder
from skillkit.matching import SkillMatcher

SLOW_SECONDS = 1.0
"""Of processor time, for one step with one file; real files take milliseconds."""
_GROUP = 200
_MOST_FOLDERS = 1_000_000
_SHOWN = 20
Result = TypeVar("Result")


@dataclass(slots=True)
class Report:
    """What was found; all but the counts should be empty."""

    files: int = 0
    loaded: int = 0
    recovered: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    foreign: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.foreign or self.slow or self.disagreements)

    def lines(self) -> Iterator[str]:
        share = 100 * self.loaded / self.files if self.files else 0.0
        yield f"{self.files:,} files, {self.loaded:,} loaded ({share:.2f} %), {self.recovered:,} guessed"
        for reason, count in self.refused.most_common():
            yield f"  {count:,} refused: {reason}"
        for title in ("foreign", "slow", "disagreements"):
            found: list[str] = getattr(self, title)
            yield f"{title}: {len(found)}"
            yield from (f"  {line}" for line in found[:_SHOWN])


class Inspection:
    """One run over a folder."""

    def __init__(self) -> None:
        self.report = Report()

    def run(self, folder: Path) -> Report:
        """Return what every SKILL.md beneath `folder` came to."""
        walk = SkillWalk(folder.absolute(), max_depth=64, max_folders=_MOST_FOLDERS, include_nested=True)
        loaded = (skill for found in walk if (skill := self.file(Path(found.path))) is not None)
        while group := list(islice(loaded, _GROUP)):
            self.matching(group)
        return self.report

    def file(self, path: Path) -> SkillMetadata | None:
        """Load, render, validate and show one file; return its metadata."""
        self.report.files += 1
        skill = self.step("load", path, lambda: SkillParser(recover=True).parse_skill_file(path))
        validation = self.step("validate", path, lambda: validate_file(path))
        if skill is None:
            if validation is not None and not validation.errors:
                self.differ(path, "validate accepts what does not load")
            return None
        self.report.loaded += 1
        self.report.recovered += skill.recovered
        rendered = self.step("render", path, lambda: Skill(skill, skill.base_dir).invoke("a b"))
        if validation is not None:
            if not validation.errors and rendered is None:
                self.differ(path, "validate accepts what cannot be rendered")
            if validation.name != skill.name:
                self.differ(path, f"validate calls it '{validation.name}', loading '{skill.name}'")
        offered = self.step(
            "manifest", path, lambda: manifest(path.read_bytes(), path.parent.name, recover=True)
        )
        if offered is not None and (offered.name, offered.description) != (skill.name, skill.description):
            self.differ(path, "installing reads another name or description than loading")
        self.step("card", path, lambda: capabilities(read_folder(path.parent), skill))
        return skill

    def matching(self, skills: list[SkillMetadata]) -> None:
        """Index a group of skills and ask for each of them by its own words."""
        here = skills[0].skill_path
        matcher = self.step("index", here, lambda: _index(skills))
        if matcher is None:
            return
        for skill in skills:
            self.step("match", skill.skill_path, lambda skill=skill: matcher.match(skill.description[:300]))
            self.step("search", skill.skill_path, lambda skill=skill: matcher.rank(skill.name))

    def step(self, name: str, path: Path, work: Callable[[], Result]) -> Result | None:
        """Return what `work` gives; None when it refuses, which is counted by reason."""
        start = time.process_time()
        try:
            return work()
        except SkillsUseError as error:
            if name == "load":
                self.report.refused[type(error).__name__] += 1
        except Exception as error:
            self.report.foreign.append(f"{name} {path}: {type(error).__name__}: {error}"[:300])
        finally:
            seconds = time.process_time() - start
            if seconds > SLOW_SECONDS and name != "index":
                self.report.slow.append(f"{name} {path}: {seconds:.1f} s")
        return None

    def differ(self, path: Path, how: str) -> None:
        self.report.disagreements.append(f"{path}: {how}")


def _index(skills: list[SkillMetadata]) -> SkillMatcher:
    matcher = SkillMatcher(skills, mode="lexical")
    matcher.prepare()  # else the first request would pay for reading the whole group
    return matcher


def inspect(folder: Path) -> Report:
    """Return the report on a folder of skills, or of archives of skills."""
    archives = sorted(folder.glob("*.tar.xz"))
    if not archives:
        return Inspection().run(folder)
    with tempfile.TemporaryDirectory(prefix="skillkit-corpus-") as unpacked:
        for archive in archives:
            with tarfile.open(archive) as opened:
                opened.extractall(unpacked, filter="data")
        return Inspection().run(Path(unpacked))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print(__doc__)
        return 2
    report = inspect(Path(arguments[0]))
    print("\n".join(report.lines()))
    return 0 if report.clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
