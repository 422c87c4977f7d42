"""`pytest --skills FOLDER`: every case of the tiers that need no model is one test."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from skillkit.evaluation.report import Result


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
    for result in _results(config, folders):
        items.append(SkillItem.from_parent(root, name=_name(result), result=result))
    session.testscollected = len(items)


class SkillsCollector(pytest.Collector):
    """What the tests of skills hang on."""

    def collect(self) -> Iterator[pytest.Item]:
        return iter(())


class SkillItem(pytest.Item):
    """One case of one skill, which has been run already; here its outcome becomes that of a test."""

    def __init__(self, *, result: "Result", **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self.result = result

    def runtest(self) -> None:
        from skillkit.evaluation.report import BAD, Outcome

        if self.result.outcome in BAD:
            raise SkillCaseError(self.result)
        if self.result.outcome in (Outcome.SKIPPED, Outcome.NOT_JUDGED):
            pytest.skip(self.result.message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, SkillCaseError):
            problems = "\n".join(f"  {problem}" for problem in self.result.problems)
            return f"{self.result.message}\n{problems}".rstrip()
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path | str, int | None, str]:
        return self.result.suite or self.result.skill, None, self.name


class SkillCaseError(Exception):
    """A case that failed."""

    def __init__(self, result: "Result") -> None:
        super().__init__(result.message)


def _results(config: pytest.Config, folders: list[Path]) -> "Iterator[Result]":
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
    runs = not config.getoption("--skills-no-run")
    if runs:
        tester.scripts = sandboxed_scripts(targets.skills)
    yield from tester.run_static().results
    yield from tester.run_routing(suggest=False).results
    if runs:
        yield from tester.run_scripts()[0].results


def _name(result: "Result") -> str:
    return f"{result.skill}[{result.tier.value}-{result.id}]"
