"""Run the behaviour cases of a skill: with it and without, several times, recorded, graded."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import parse_json
from skillkit.evaluation.behaviour.budget import Budget, BudgetSpentError, Estimate
from skillkit.evaluation.behaviour.checkers import run_checker
from skillkit.evaluation.behaviour.executor import Executor, Task, Transcript
from skillkit.evaluation.behaviour.graders import Grade, grade
from skillkit.evaluation.behaviour.judge import Judge, Verdict
from skillkit.evaluation.behaviour.recording import (
    NoRecordingError,
    PendingRequest,
    Recordings,
    RunKey,
    UnknownOutcomeError,
    digest_of,
    skill_digest,
)
from skillkit.evaluation.behaviour.statistics import difference, pass_rate
from skillkit.evaluation.cases import AssignedCase, Case, Check, CheckKind
from skillkit.evaluation.report import CaseOutcome, Problem, Result, Tier
from skillkit.evaluation.workspace import workspace

WITH, WITHOUT = "with", "without"
DEFAULT_SECONDS = 300.0


@dataclass(eq=False)
class BehaviourRunner:
    """Runs cases with an executor or recordings, a budget, and optionally a judge."""

    recordings: Recordings
    executor: Executor | None = None
    """The executor; None if everything is replayed."""
    runs: int = 1
    baseline: bool = True
    judge: Judge | None = None
    _: KW_ONLY
    budget: Budget = field(default_factory=Budget)
    progress: Callable[[str], object] = lambda text: None
    stopped: str = field(default="", init=False)
    """Why some cases were not run."""
    unknown: int = field(default=0, init=False)
    """Requests that were pending when an earlier test was killed, and were not repeated."""

    def estimate(self, cases: Sequence[AssignedCase]) -> Estimate:
        """Return the number of remaining runs and their estimated tokens."""
        runs = recorded = tokens = judged = 0
        for case in cases:
            instructions = case.skill.skill_path.stat().st_size // 4
            for variant in self._variants():
                for number in range(self._count(case.case)):
                    if self.recordings.counts(self._key(case, variant, number)):
                        recorded += 1
                        continue
                    runs += 1
                    tokens += sum(len(prompt) for prompt in case.case.prompts) // 4 + 500
                    tokens += instructions if variant == WITH else 0
                    judged += self.judge is not None and any(
                        check.kind is CheckKind.STATEMENT for check in _checks(case.case)
                    )
        return Estimate(runs, recorded, tokens, judged)

    def run(self, cases: Iterable[AssignedCase]) -> list[Result]:
        """Run every case; at a limit or interrupt, finished runs are kept and the other cases skipped."""
        results: list[Result] = []
        for case in cases:
            if not self.stopped:
                try:
                    results.append(self._run_case(case))
                    continue
                except BudgetSpentError as error:
                    self.stopped = str(error)
                except KeyboardInterrupt:
                    self.stopped = "interrupted"
            results.append(self._result(case, CaseOutcome.SKIPPED, f"not run: {self.stopped}", {}, {}))
        return results

    def _run_case(self, case: AssignedCase) -> Result:
        try:
            runs = {
                variant: [self._transcript(case, variant, number) for number in range(self._count(case.case))]
                for variant in self._variants()
            }
        except ConfigurationError as error:
            self.unknown += isinstance(error, UnknownOutcomeError)
            return self._result(case, CaseOutcome.ERROR, str(error), {}, {})
        grades = {
            variant: [self._graded(case, run, variant, number) for number, run in enumerate(made)]
            for variant, made in runs.items()
        }
        outcome, message = _outcome(grades[WITH])
        broken = next((run for made in runs.values() for run in made if run.broken), None)
        if broken is not None and outcome is not CaseOutcome.FAILED:
            outcome, message = CaseOutcome.ERROR, f"a run was aborted: {broken.error}"
        return self._result(case, outcome, message, runs, grades)

    def _transcript(self, case: AssignedCase, variant: str, number: int) -> Transcript:
        key = self._key(case, variant, number)
        found = self.recordings.find(key)
        if found is not None:
            return found
        if self.executor is None:
            raise ConfigurationError(
                f"There is no recording of {case.case.id} ({variant}) and no model to ask"
            )
        self.budget.check()
        self.progress(f"{case.skill.name} {case.case.title[:40]} ({variant}, run {number + 1})")
        with workspace(case.case.files, (case.skill.base_dir, case.suite.parent)) as folder:
            skill = case.skill if variant == WITH else None
            seconds = case.case.seconds or DEFAULT_SECONDS
            task = Task(
                case.case.prompts,
                folder,
                skill,
                seconds,
                self.recordings.calls(key),
                self.recordings.mark(key),
            )
            made = self.executor.run(task)
            made = replace(made, seconds=round(made.seconds, 3))  # rounded as in the recording
        self.budget.spend(made)
        self.recordings.keep(key, made, self.agreement())
        return made

    def _graded(self, case: AssignedCase, run: Transcript, variant: str, number: int) -> list[Grade]:
        found = []
        checks = _checks(case.case)
        if run.broken and not any(check.kind is CheckKind.COMPLETED for check in checks):
            return [Grade(check, None, f"the run was aborted: {run.error}") for check in checks]
        for check in checks:
            if check.kind is CheckKind.CHECKER:
                found.append(run_checker(check, run, case.skill, case.suite))
                continue
            found.append(grade(check, run, case.skill.canonical_name))
        found = self._judged(found, case, run, variant, number)
        if run.error and not any(made.check.kind is CheckKind.COMPLETED for made in found):
            found.append(Grade(Check(CheckKind.COMPLETED), False, run.error))
        return found

    def _judged(
        self, grades: list[Grade], case: AssignedCase, run: Transcript, variant: str, number: int
    ) -> list[Grade]:
        """Return the grades with the judge's verdicts on statements, recorded like a run so that none is
        repeated."""
        open_checks = [made.check for made in grades if made.passed is None]
        sentences = [check.text for check in open_checks if check.kind is CheckKind.STATEMENT]
        if self.judge is None or not sentences:
            return grades
        key = replace(
            self._key(case, "judge", number),
            case=f"{case.case.id}-{variant}",
            executor=self.judge.model,
            model=self.judge.model,
            prompt_digest=digest_of(sentences, case.case.prompts, run.answer),
        )
        try:
            found = self.recordings.find(key)
        except NoRecordingError:
            return grades
        if found is None:
            self.budget.check()
            try:
                verdicts = self._verdicts(key, self.judge, sentences, case.case.prompts[0], run.answer)
            except UnknownOutcomeError as error:
                self.unknown += 1
                return _with_verdicts(grades, dict.fromkeys(sentences, (None, str(error))))
            found = Transcript(json.dumps(verdicts), requests=1)
            self.budget.spend(found)
            self.recordings.keep(key, found, self.agreement())
        return _with_verdicts(grades, dict(zip(sentences, parse_json(found.answer), strict=True)))

    def _verdicts(
        self, key: RunKey, judge: Judge, sentences: list[str], prompt: str, answer: str
    ) -> list[Verdict]:
        if judge.in_process:
            return judge.verdicts(sentences, prompt, answer)
        with PendingRequest(self.recordings.mark(key), f"the judge {judge.model}".rstrip()).sent():
            return judge.verdicts(sentences, prompt, answer)

    def agreement(self) -> Mapping[str, object] | None:
        """Return a description of the judge; in a replay, the recorded one."""
        if self.executor is None:
            return self.recordings.judge
        return {"model": self.judge.model} if self.judge is not None else None

    def _key(self, case: AssignedCase, variant: str, number: int) -> RunKey:
        files = [(file.path, file.source, file.content) for file in case.case.files]
        return RunKey(
            case.skill.canonical_name,
            case.suite.name,
            case.case.id,
            variant,
            number,
            self.executor.name if self.executor else "",
            self.executor.model if self.executor else "",
            digest_of(case.case.prompts, files),
            skill_digest(case.skill) if variant == WITH else "",
            case.suite.parent,
        )

    def _variants(self) -> tuple[str, ...]:
        return (WITH, WITHOUT) if self.baseline else (WITH,)

    def _count(self, case: Case) -> int:
        return max(self.runs, case.runs or 1) if self.runs == 1 else self.runs

    def _result(
        self,
        case: AssignedCase,
        outcome: CaseOutcome,
        message: str,
        runs: dict[str, list[Transcript]],
        grades: dict[str, list[list[Grade]]],
    ) -> Result:
        def variant_data(variant: str) -> list[dict[str, object]]:
            return [
                {**run.as_data(), "grades": [made.as_data() for made in graded], "passed": _passed(graded)}
                for run, graded in zip(runs.get(variant, ()), grades.get(variant, ()), strict=True)
            ]

        passes = [_passed(graded) for graded in grades.get(WITH, ())]
        failed = [made for graded in grades.get(WITH, ()) for made in graded if made.passed is False]
        return Result(
            Tier.BEHAVIOUR,
            case.skill.canonical_name,
            case.case.id,
            outcome,
            case.case.title,
            message,
            tuple(Problem(f"{made.check.text or made.check.shown}: {made.evidence}") for made in failed),
            str(case.suite),
            sum(run.seconds for made in runs.values() for run in made),
            {
                "prompts": list(case.case.prompts),
                "flaky": len({passed for passed in passes if passed is not None}) > 1,
                WITH: variant_data(WITH),
                WITHOUT: variant_data(WITHOUT),
            },
        )


def _with_verdicts(grades: Sequence[Grade], verdicts: Mapping[str, Verdict]) -> list[Grade]:
    return [
        Grade(made.check, *verdicts[made.check.text])
        if made.passed is None and made.check.text in verdicts
        else made
        for made in grades
    ]


def _checks(case: Case) -> tuple[Check, ...]:
    """Return the checks of a case; without any, the expected output becomes a statement for the judge."""
    if case.checks or not case.expected_output:
        return case.checks
    return (Check(CheckKind.STATEMENT, text=f"The answer agrees with this: {case.expected_output}"),)


def _passed(grades: Sequence[Grade]) -> bool | None:
    """Return whether a check passed and none failed; None if no check was judged."""
    if any(made.passed is False for made in grades):
        return False
    return True if any(made.passed for made in grades) else None


def _outcome(runs: Sequence[Sequence[Grade]]) -> tuple[CaseOutcome, str]:
    passes = [_passed(grades) for grades in runs]
    judged = [passed for passed in passes if passed is not None]
    open_checks = sum(made.passed is None for grades in runs for made in grades)
    left = f"; {open_checks} checks not judged" if open_checks else ""
    if not judged:
        return CaseOutcome.NOT_JUDGED, f"nothing could be judged{left}"
    if all(judged):
        return CaseOutcome.PASSED, left.removeprefix("; ")
    first = next(made for grades in runs for made in grades if made.passed is False)
    share = f"{sum(judged)} of {len(judged)} runs passed" if len(judged) > 1 else ""
    text = f"{first.check.text or first.check.shown}: {first.evidence}"
    return CaseOutcome.FAILED, "; ".join(part for part in (share, text) if part) + left


def metrics(results: Sequence[Result]) -> dict[str, object]:
    """Return pass rates with and without the skill, their difference with its interval, and flaky cases."""
    found: dict[str, object] = {"cases": len(results)}
    rates = {}
    for variant in (WITH, WITHOUT):
        by_case = [_runs(result, variant) for result in results]
        judged = [[bool(run["passed"]) for run in runs if run["passed"] is not None] for runs in by_case]
        rate = rates[variant] = pass_rate([(sum(runs), len(runs)) for runs in judged])
        runs = [run for each in by_case for run in each]
        found[f"{variant}_skill"] = round(rate.share, 4) if rate else None
        found[f"{variant}_skill_interval"] = list(rate.interval) if rate else None
        found[f"{variant}_skill_runs"] = sum(map(len, judged))
        found[f"{variant}_skill_worth"] = round(rate.size, 1) if rate else None
        found[f"{variant}_skill_tokens"] = _mean([run["tokens"] for run in runs])
        found[f"{variant}_skill_seconds"] = _mean([run["seconds"] for run in runs])
    found["difference"] = difference(rates[WITH], rates[WITHOUT])
    found["flaky"] = [result.id for result in results if result.data.get("flaky")]
    return found


def spent(results: Sequence[Result]) -> dict[str, object]:
    """Return the requests, tokens and cost that the runs in these results took when they were made."""
    made = [run for result in results for variant in (WITH, WITHOUT) for run in _runs(result, variant)]

    def total(name: str) -> float:
        return sum(value for run in made if isinstance(value := run.get(name), int | float))

    return {"calls": total("requests"), "tokens": total("tokens"), "cost": round(total("cost"), 4)}


def _runs(result: Result, variant: str) -> list[dict[str, object]]:
    runs = result.data.get(variant)
    return runs if isinstance(runs, list) else []


def _mean(values: Sequence[object]) -> float | None:
    numbers = [value for value in values if isinstance(value, int | float)]
    return round(sum(numbers) / len(numbers), 2) if numbers else None
