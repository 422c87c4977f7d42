"""`pytest --skills FOLDER`: one test per case; behaviour is replayed from recordings, without a model."""

import difflib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from skillkit.evaluation.report import BAD, CaseOutcome, Result

if TYPE_CHECKING:
    from skillkit.evaluation.behaviour.runs import BehaviourRunner
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
        help="test behaviour from recordings, by default those beside the cases",
    )
    group.addoption("--skills-no-run", action="store_true", help="start no script of a skill")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "skill: a case of a skill, which --skills adds")


@pytest.fixture
def skill_tester() -> "Callable[[Path], SkillTester]":
    """Return a factory for testers of the skills in a folder, for custom tests; it runs no script."""

    def tester(folder: Path) -> "SkillTester":
        from skillkit.evaluation.discovery import find_targets
        from skillkit.evaluation.tester import SkillTester

        found = find_targets([folder])
        return SkillTester(found.skills, found.suites, unloadable=found.unloadable)

    return tester


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Load no conftest.py that belongs to a skill: its code would run in this process."""
    known, here = early_config.known_args_namespace, early_config.invocation_params.dir
    if known.skills:
        named = [here / arg.partition("::")[0] for arg in getattr(known, "file_or_dir", None) or ()]
        anchors = [here, *named]
        # pytest looks into these folders, too.
        anchors += [folder for anchor in anchors if anchor.is_dir() for folder in anchor.glob("test*")]
        known.noconftest = known.noconftest or any(map(_belongs_to_skill, anchors))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore a skill's Python files: its cases are data, its tests third-party code."""
    if config.getoption("--skills") and _belongs_to_skill(collection_path):
        return True
    return None


def _belongs_to_skill(path: Path) -> bool:
    return any((folder / "SKILL.md").exists() for folder in (path, *path.absolute().parents))


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Run the tests of skills after those collected from files."""
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
    """Collects the tests of skills."""

    def collect(self) -> Iterator[pytest.Item]:
        return iter(())


class SkillItem(pytest.Item):
    """One case of one skill."""

    def __init__(self, *, test: "SkillTest", **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self.test = test
        self.add_marker("skill")

    def runtest(self) -> None:
        result = self.test.run()
        if result.outcome in BAD:
            raise SkillCaseError(result)
        if result.outcome in (CaseOutcome.SKIPPED, CaseOutcome.NOT_JUDGED):
            pytest.skip(result.message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, SkillCaseError):
            return "\n".join(_explanation(excinfo.value.result))
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path | str, int | None, str]:
        return self.test.skill, None, self.name


class SkillCaseError(Exception):
    """Raised when a case fails."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.message)
        self.result = result


def _explanation(result: Result) -> Iterator[str]:
    """Yield the actual results, with the difference from the expected ones."""
    texts = [str(problem) for problem in result.problems]
    if not any(result.message in text for text in texts):
        yield result.message
    yield from texts
    for number, run in enumerate(_listed(result.data.get("with")), 1):
        if run["passed"] is False:
            yield from ("", f"Run {number} answered:", *(f"  {line}" for line in run["answer"].splitlines()))
            for grade in run["grades"]:
                mark = {True: "+", False: "-", None: "?"}[grade["passed"]]
                yield f"{mark} {grade['text']}{': ' + grade['evidence'] if grade['evidence'] else ''}"
    for found in _listed(result.data.get("found")):
        reasons = "; ".join(found["reasons"])
        yield f"  {found['score']:.2f} {found['skill']}{': ' + reasons if reasons else ''}"
    expected, seen = result.data.get("expected"), result.data.get("seen")
    if isinstance(expected, dict) and isinstance(seen, dict):
        found = {key: seen.get(key) for key in expected}
        yield from difflib.unified_diff(_lines(expected), _lines(found), "expected", "seen", lineterm="")


def _lines(value: object) -> list[str]:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines()


def _listed(value: object) -> list[dict[str, Any]]:
    return value if isinstance(value, list) else []


def _tests(config: pytest.Config, folders: list[Path]) -> "Iterator[SkillTest]":
    from skillkit.evaluation.discovery import find_targets, skills_in
    from skillkit.evaluation.script_runs import sandboxed_scripts
    from skillkit.evaluation.tester import SkillTester

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
    from skillkit.evaluation.behaviour.judge import Judge
    from skillkit.evaluation.behaviour.recording import Recordings
    from skillkit.evaluation.behaviour.runs import BehaviourRunner

    if folder is None or not tester.behaviour_cases():
        return None
    judge = Judge(lambda question: "")  # use recorded verdicts only
    return BehaviourRunner(
        Recordings(Path(folder) if folder else None, replay=True), baseline=False, judge=judge
    )
