"""SkillTester: runs the cases of skills, tier by tier, and returns reports."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from skillkit._version import __version__
from skillkit.core.digest import tree_digest
from skillkit.core.disk import real_path
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.evaluation import routing
from skillkit.evaluation.accepted import Acceptance, accept, read_accepted
from skillkit.evaluation.cases import AssignedCase, Suite
from skillkit.evaluation.discovery import FoundSuites, folder_around
from skillkit.evaluation.formats import read_cases_file
from skillkit.evaluation.report import CaseOutcome, Problem, Report, Result, SkillUnderTest, Tier
from skillkit.evaluation.routing import RoutedCase, canonical, routed_cases
from skillkit.evaluation.static.checks import RULES, Examination, examine
from skillkit.matching.matcher import SkillMatcher

if TYPE_CHECKING:
    from skillkit.evaluation.behaviour.runs import BehaviourRunner
    from skillkit.evaluation.script_runs import ScriptObservation
    from skillkit.scripts.tools import ScriptTools

Said = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class SkillTest:
    """One case that has not been run yet."""

    tier: Tier
    skill: str
    id: str
    run: Callable[[], Result]


@dataclass(eq=False)
class SkillTester:
    """Skills under test, the library around them, and their files of cases."""

    skills: Sequence[SkillMetadata]
    suites: FoundSuites = field(default_factory=FoundSuites)
    among: Sequence[SkillMetadata] = ()
    """Further skills of the library in which requests are routed."""
    mode: str | None = None
    about: str | None = None
    """The skill for cases that name none and are outside a skill's folder."""
    _: KW_ONLY
    scripts: "ScriptTools | None" = None
    """Runs scripts; None skips everything that needs one."""
    unloadable: Sequence[Diagnostic] = ()
    """Skills that failed to load, and the reason."""
    progress: Said = lambda text: None

    @cached_property
    def library(self) -> list[SkillMetadata]:
        return routing.library_of((*self.skills, *self.among))

    @cached_property
    def matcher(self) -> SkillMatcher:
        return SkillMatcher(self.library, mode=self.mode)

    def report(self, results: Iterable[Result], metrics: dict[str, object]) -> Report:
        """Return a report of `results`, with the skills, the time and the unreadable files."""
        unreadable = [Problem(found.reason, str(found.path)) for found in self.suites.unreadable]
        notes = [f"{suite.path}: {note}" for suite in self.suites.suites for note in suite.notes]
        notes += self.unassigned()
        kept, said = self._accepted(results)
        notes += said
        return Report(
            tuple(kept),
            tuple(_under_test(skill) for skill in self.skills),
            tuple(unreadable),
            tuple(notes),
            metrics,
            datetime.now(UTC).isoformat(timespec="seconds"),
            f"skillkit {__version__}",
        )

    def _accepted(self, results: Iterable[Result]) -> tuple[list[Result], list[str]]:
        """Apply each skill's list of accepted findings; return the results and the problems of the lists."""
        kept, notes = list(results), []
        for skill in self.skills:
            entries, wrong = read_accepted(skill.base_dir)
            notes += [f"{skill.name}: {wrong}"] if wrong else []
            kept, stale = accept(kept, entries, skill.canonical_name)
            notes += [f"{skill.name}: {line}" for line in stale]
        return kept, notes

    def run_static(self) -> Report:
        """Run every rule on every skill."""
        self.progress(f"Reading {len(self.skills)} skill{'s' * (len(self.skills) != 1)}")
        return self.report([test.run() for test in self._static_tests()], {})

    def _examination(self, skill: SkillMetadata) -> Examination:
        own = tuple(
            Problem(found.reason, _within(found.path, skill.base_dir), warning=True)
            for found in self.suites.unreadable
            if real_path(found.path).is_relative_to(real_path(skill.base_dir))
        )
        own += tuple(self._missing_inputs(skill))
        return Examination(skill, self.matcher, self.scripts, (*own, *self._other_names(skill)))

    def _missing_inputs(self, skill: SkillMetadata) -> Iterator[Problem]:
        """Yield input files of cases that do not exist."""
        for each in self._assigned():
            for file in each.case.files if each.skill is skill else ():
                named = file.source or ""
                if named and not any((base / named).exists() for base in (skill.base_dir, each.suite.parent)):
                    message = f"case {each.case.id} is given {named}, which does not exist"
                    yield Problem(message, _within(each.suite, skill.base_dir))

    def run_routing(self) -> Report:
        """Route every request with a known answer, in the library and in the skill alone."""
        cases = self.routed()
        if not cases:
            return self.report((), {})
        self.progress(f"Matching {len(cases)} request{'' if len(cases) == 1 else 's'}")
        results = [routing.route(self.matcher, case) for case in cases]
        measured = routing.metrics(results)
        measured |= {"mode": self.matcher.mode.value, "threshold": self.matcher.threshold}
        measured["library"] = len(self.library)
        if len(self.library) > 1:
            results, measured["alone"] = self._alone(cases, results)
        return self.report(results, {Tier.ROUTING.value: measured})

    def run_scripts(self) -> "tuple[Report, dict[Path, dict[str, ScriptObservation]]]":
        """Run every script case; return the report, and the observations by file and case."""
        from skillkit.evaluation.script_runs import run_script_case

        results: list[Result] = []
        seen: dict[Path, dict[str, ScriptObservation]] = {}
        for each in self._assigned():
            if each.case.script is None:
                continue
            self.progress(f"Running {each.skill.name} {each.case.script.script}")
            result, observed = run_script_case(each)
            results.append(result)
            if observed is not None:
                seen.setdefault(each.suite, {})[each.case.id] = observed
        return self.report(results, {}), seen

    def behaviour_cases(self) -> list[AssignedCase]:
        """Return every case of the skills under test that has a prompt and a check."""
        return [
            each
            for each in self._assigned()
            if each.case.prompts and (each.case.checks or each.case.expected_output)
        ]

    def without_checks(self) -> list[str]:
        """Return files with requests but no expectations, which are not run."""
        found = []
        for suite in self.suites.suites:
            asked = [
                case for case in suite.cases if case.prompts and not (case.checks or case.expected_output)
            ]
            count = sum(case.routing is None or case.routing.implied for case in asked)
            if count:
                cases = "1 case says" if count == 1 else f"{count} cases say"
                found.append(f"{suite.path}: {cases} nothing to check: not run")
        return found

    def tests(self, behaviour: "BehaviourRunner | None" = None) -> Iterator[SkillTest]:
        """Yield every case of every tier by name, not yet run; accepted findings pass."""
        accepted = {skill.canonical_name: read_accepted(skill.base_dir)[0] for skill in self.skills}
        for test in self._tests(behaviour):
            yield replace(test, run=partial(_run_accepting, test.run, accepted.get(test.skill, ())))

    def _tests(self, behaviour: "BehaviourRunner | None") -> Iterator[SkillTest]:
        from skillkit.evaluation.script_runs import run_script_case

        yield from self._static_tests()
        for routed in self.routed():
            run = partial(routing.route, self.matcher, routed)
            yield SkillTest(Tier.ROUTING, routed.skill, routed.case.id, run)
        for each in self._assigned():
            if each.case.script is not None and self.scripts is not None:
                run = partial(_first, run_script_case, each)
                yield SkillTest(Tier.SCRIPTS, each.skill.canonical_name, each.case.id, run)
        if behaviour is None:
            return
        for each in self.behaviour_cases():
            run = partial(_first, behaviour.run, [each])
            yield SkillTest(Tier.BEHAVIOUR, each.skill.canonical_name, each.case.id, run)

    def _static_tests(self) -> Iterator[SkillTest]:
        for found in map(_unloadable, self.unloadable):
            yield SkillTest(Tier.STATIC, found.skill, found.id, partial(replace, found))
        for skill in self.skills:
            examination = self._examination(skill)
            for rule in RULES:
                run = partial(examine, examination, rule)
                yield SkillTest(Tier.STATIC, skill.canonical_name, rule, run)

    def _assigned(self) -> Iterator[AssignedCase]:
        """Yield each case with its skill under test and its file."""
        by_name = {skill.canonical_name: skill for skill in self.skills}
        for suite in self.suites.suites:
            for case in suite.cases:
                skill = by_name.get(canonical(case.skill or "")) or by_name.get(self.skill_of(suite) or "")
                if skill is not None:
                    yield AssignedCase(case, skill, suite.path)

    def run_behaviour(self, runner: "BehaviourRunner") -> Report:
        """Run every behaviour case with and without its skill; note the cases skipped by a limit or
        Ctrl-C."""
        from skillkit.evaluation.behaviour import runs

        results = runner.run(self.behaviour_cases())
        measured = runs.metrics(results)
        measured |= {
            "executor": runner.executor.name if runner.executor else runner.recordings.executor,
            "model": runner.executor.model if runner.executor else runner.recordings.model,
            "spent": runs.spent(results),
            "judge": runner.agreement(),
        }
        report = self.report(results, {Tier.BEHAVIOUR.value: measured} if results else {})
        notes = [*report.notes, *self.without_checks()]
        if runner.stopped:
            notes.append(f"Not every case was run: {runner.stopped}")
        if runner.recordings.stale:
            notes.append(
                f"{runner.recordings.stale} recordings are of another version of the skill or prompt"
            )
        # A replay has the date of its recordings, so that its report is reproducible.
        created = runner.recordings.newest if runner.recordings.replay else ""
        return replace(report, notes=tuple(notes), created=created or report.created)

    def reread(self) -> None:
        """Read the files of cases again after an update."""
        again = [read_cases_file(suite.path, suite.skill) for suite in self.suites.suites]
        suites = tuple(suite for suite in again if isinstance(suite, Suite))
        self.suites = replace(self.suites, suites=suites)

    def routed(self) -> list[RoutedCase]:
        """Return the cases of all suites that name the expected skill."""
        found: list[RoutedCase] = []
        for suite in self.suites.suites:
            found.extend(routed_cases(suite.cases, self.skill_of(suite), suite.path))
        names = self._by_folder()
        return [case.renamed(names) for case in found] if names else found

    def _by_folder(self) -> dict[str, str]:
        """Map folder names to the only skill in such a folder, unless a skill has that name."""
        known = {skill.canonical_name for skill in self.library}
        places: dict[str, set[str]] = {}
        for skill in self.library:
            places.setdefault(canonical(skill.base_dir.name), set()).add(skill.canonical_name)
        return {
            place: next(iter(names))
            for place, names in places.items()
            if len(names) == 1 and place not in known
        }

    def unassigned(self) -> list[str]:
        """Return files with cases whose skill is unknown."""
        return [
            f"{suite.path}: its cases do not say which skill they are about"
            for suite in self.suites.suites
            if self.skill_of(suite) is None
            and any(
                case.routing and "" in (*case.routing.wanted, *case.routing.unwanted) for case in suite.cases
            )
        ]

    def skill_of(self, suite: Suite) -> str | None:
        """Return the skill whose folder contains a suite, or the one that the suite names."""
        around = folder_around(suite.path)
        if around is not None:
            for skill in self.library:
                if real_path(skill.base_dir) == around:
                    return skill.canonical_name
        if self.about:
            return canonical(self.about)
        return canonical(suite.skill) if suite.skill else None

    def _alone(
        self, cases: list[RoutedCase], results: list[Result]
    ) -> tuple[list[Result], dict[str, object]]:
        """Return the results with whether the wanted skill matches as the only one, and the metrics."""
        by_name = {skill.canonical_name: skill for skill in self.library}
        wanting: dict[str, list[int]] = {}
        for number, case in enumerate(cases):
            if len(case.wanted) == 1 and case.wanted[0] in by_name:
                wanting.setdefault(case.wanted[0], []).append(number)
        noted, alone = list(results), []
        for name, numbers in wanting.items():  # one skill at a time, to hold only one index in memory
            matcher = SkillMatcher(
                [by_name[name]],
                mode=self.matcher.mode,
                threshold=self.matcher.threshold,
                settings=self.matcher.settings,
            )
            for number in numbers:
                matched = bool(matcher.match(cases[number].request))
                alone.append(matched)
                noted[number] = replace(results[number], data={**results[number].data, "alone": matched})
        return noted, {"cases": len(alone), "recall": round(sum(alone) / len(alone), 4) if alone else None}

    def _other_names(self, skill: SkillMetadata) -> Iterable[Problem]:
        """Yield suites in the folder of a skill that name a different skill."""
        for suite in self.suites.suites:
            if folder_around(suite.path) == real_path(skill.base_dir) and suite.skill:
                named = canonical(suite.skill)
                if named not in (skill.canonical_name, canonical(skill.base_dir.name)):
                    text = f"is about a skill called {named}; this one is {skill.canonical_name}"
                    yield Problem(text, _within(suite.path, skill.base_dir))


def _under_test(skill: SkillMetadata) -> SkillUnderTest:
    try:
        digest = tree_digest(skill.base_dir).digest
    except (SkillsUseError, OSError):
        digest = ""
    return SkillUnderTest(skill.canonical_name, str(skill.base_dir), digest)


def _run_accepting(run: Callable[[], Result], accepted: Sequence[Acceptance]) -> Result:
    result = run()
    return accept([result], accepted, result.skill)[0][0]


def _first(run: Callable[..., Sequence[object]], *given: object) -> Result:
    """Return the result of a run, which is its first value; the others are dropped."""
    return cast("Result", run(*given)[0])


def _unloadable(found: Diagnostic) -> Result:
    problem = Problem(f"{found.code}: {found.message}", found.path.name, found.line)
    name = canonical(found.path.parent.name)
    said = str(problem)
    return Result(
        Tier.STATIC, name, "loads", CaseOutcome.FAILED, "loads", said, (problem,), suite=str(found.path)
    )


def _within(path: Path, folder: Path) -> str:
    try:
        return real_path(path).relative_to(real_path(folder)).as_posix()
    except ValueError:
        return str(path)
