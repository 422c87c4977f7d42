"""`pytest --skills FOLDER`: each case is one test; behaviour is replayed from recordings, without a model."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from skillkit.evaluation.behaviour.runs import BehaviourRunner
    from skillkit.evaluation.report import Result
    from skillkit.evaluation.tester import SkillTest, SkillTester


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("skills")
    group.addoption(
        "--skills", action="append", default=[], metavar="FOLDER", help="test the skills in a folder"
    )
    group.addoption(
        "--skills-among",
        action="append",
        default=[],
        metavar="FOLDER",
        help="skills that compete for requests",
    )
    group.addoption("--skills-mode", default=None, metavar="MODE", help="how requests are matched")
    group.addoption(
        "--skills-replay",
        nargs="?",
        const="",
        default=None,
        metavar="FOLDER",
        help="test behaviour from recordings, which lie beside the cases unless a folder is given",
    )
    group.addoption("--skills-no-run", action="store_true", help="start no script of a skill")


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """The tests of skills come after those that were collected from files."""
    folders = [Path(folder) for folder in config.getoption("--skills")]
    for folder in folders:
        if not folder.exists():
            raise pytest.UsageError(f"--skills: there is no folder {folder}")
    if not folders:
        return
    root = SkillsCollector.from_parent(session, name="skills", nodeid="skills")
    for test in _tests(config, folders):
        items.append(
            SkillItem.from_parent(root, name=f"{test.skill}[{test.tier.value}-{test.id}]", test=test)
        )
    session.testscollected = len(items)


class SkillsCollector(pytest.Collector):
    """What the tests of skills hang on."""

    def collect(self) -> Iterator[pytest.Item]:
        return iter(())


class SkillItem(pytest.Item):
    """One case of one skill."""

    def __init__(self, *, test: "SkillTest", **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self.test = test

    def runtest(self) -> None:
        from skillkit.evaluation.report import BAD, Outcome

        result = self.test.run()
        if result.outcome in BAD:
            raise SkillCaseError(result)
        if result.outcome in (Outcome.SKIPPED, Outcome.NOT_JUDGED):
            pytest.skip(result.message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, SkillCaseError):
            result = excinfo.value.result
            return "\n".join([result.message, *(f"  {problem}" for problem in result.problems)])
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path | str, int | None, str]:
        return self.test.skill, None, self.name


class SkillCaseError(Exception):
    """A case that failed."""

    def __init__(self, result: "Result") -> None:
        super().__init__(result.message)
        self.result = result


def _tests(config: pytest.Config, folders: list[Path]) -> "Iterator[SkillTest]":
    from skillkit.evaluation.script_runs import sandboxed_scripts
    from skillkit.evaluation.targets import find_targets
    from skillkit.evaluation.tester import SkillTester, skills_in

    targets = find_targets(folders)
    among = [Path(folder) for folder in config.getoption("--skills-among")]
    tester = SkillTester(
        targets.skills,
        targets.suites,
        skills_in(among).list_skills() if among else (),
        config.getoption("--skills-mode"),
        unloadable=targets.unloadable,
    )
    if not config.getoption("--skills-no-run"):
        tester.scripts = sandboxed_scripts(targets.skills)
    yield from tester.tests(_replayed(config.getoption("--skills-replay"), tester))


def _replayed(folder: str | None, tester: "SkillTester") -> "BehaviourRunner | None":
    from skillkit.evaluation.behaviour.judge import UNMEASURED, Judge
    from skillkit.evaluation.behaviour.recording import RECORDINGS, Recordings
    from skillkit.evaluation.behaviour.runs import BehaviourRunner

    cases = tester.behaviour_cases()
    if folder is None or not cases:
        return None
    place = Path(folder) if folder else cases[0].suite.parent / RECORDINGS
    judge = Judge(lambda question: "", UNMEASURED)  # only what was recorded counts
    return BehaviourRunner(Recordings(place, replay=True), baseline=False, judge=judge)
