"""Set up a run of behaviour tests: executor, judge, and consent to costs."""

import shlex
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit.agent.models.choice import choose
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.settings import SettingsFile
from skillkit.core.disk import agent_home
from skillkit.core.exceptions import ConfigurationError
from skillkit.evaluation.behaviour.budget import HANDFUL, Budget, Estimate
from skillkit.evaluation.behaviour.executor import Executor
from skillkit.evaluation.behaviour.judge import Judge
from skillkit.evaluation.behaviour.program import ProgramExecutor
from skillkit.evaluation.behaviour.recording import Recordings
from skillkit.evaluation.behaviour.runs import BehaviourRunner
from skillkit.evaluation.report import Report
from skillkit.install.exceptions import ConsentError

if TYPE_CHECKING:
    from skillkit.agent.task_runs import AgentExecutor
    from skillkit.evaluation.tester import SkillTester

_Fetch = Callable[[ChatProvider], object]


@dataclass(frozen=True, slots=True)
class BehaviourOptions:
    """Options of a behaviour run."""

    provider: str | None = None
    model: str | None = None
    program: str | None = None
    """An external program instead of a provider."""
    judge: str | None = None
    """The provider that judges statements."""
    runs: int = 1
    baseline: bool = True
    replay: bool = False
    resume: bool = False
    ask_again: bool = False
    """Repeat requests whose outcome is unknown because an earlier test was killed."""
    accept_stale: bool = False
    recordings: Path | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None


def run_behaviour(
    tester: "SkillTester",
    options: BehaviourOptions,
    agree: Callable[[Estimate], bool],
    progress: Callable[[str], object],
    fetch: _Fetch = lambda provider: None,
) -> Report:
    """Run the behaviour tier; `agree` is called before more than a few paid model calls.

    `fetch` is called for a provider that must download files before its first request.
    """
    cases = tester.behaviour_cases()
    if not cases:
        report = tester.report((), {})
        return replace(report, notes=(*report.notes, *tester.without_checks()))
    executor = None if options.replay else _executor(options, fetch)
    with ExitStack() as closing:
        if executor is not None:
            closing.callback(executor.close)
        if options.max_cost is not None and executor is not None and not executor.tells_cost:
            raise ConfigurationError(_without_price(executor.name, program=options.program is not None))
        runner = BehaviourRunner(
            Recordings(
                options.recordings,
                options.replay,
                options.resume,
                options.accept_stale,
                options.ask_again,
                apart=agent_home() / "tests" / "recordings",
            ),
            executor,
            options.runs,
            options.baseline,
            _judge(options, closing, fetch),
            budget=Budget(options.max_calls, options.max_tokens, options.max_cost),
            progress=progress,
        )
        estimate = runner.estimate(cases)
        progress(str(estimate))
        if executor is not None and executor.paid and estimate.runs > HANDFUL and not agree(estimate):
            raise ConsentError(f"Not run: {estimate} of a service that may cost money; --yes agrees to that")
        report = tester.run_behaviour(runner)
        if runner.unknown:
            which = "request was" if runner.unknown == 1 else "requests were"
            note = (
                f"{runner.unknown} {which} under way when an earlier test was killed; --ask-again asks again"
            )
            report = replace(report, notes=(*report.notes, note))
        return report


def _executor(options: BehaviourOptions, fetch: _Fetch) -> Executor:
    if options.program is not None:
        return ProgramExecutor.named(_command(options.program), options.model or "")
    return _agent(options.provider, options.model, fetch)


def _command(text: str) -> list[str]:
    """Return a program and its arguments as typed in a shell, quoted if they contain spaces."""
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise ConfigurationError(f"--with {text}: {error}") from error
    if not command:
        raise ConfigurationError("--with names no program")
    return command


def _without_price(name: str, *, program: bool) -> str:
    if program:
        return f"{name} does not say what it costs: bound it by --max-calls or --max-tokens, not --max-cost"
    return (
        f"A limit in money needs the price of {name}: "
        f"agent config set {name}.price READ/WRITTEN (of a million tokens)"
    )


def _agent(provider: str | None, model: str | None, fetch: _Fetch) -> "AgentExecutor":
    from skillkit.agent.task_runs import AgentExecutor  # imports the framework, which most tests do not need

    chosen = choose(SettingsFile().load(), provider, model)
    fetch(chosen)
    return AgentExecutor(chosen)


def _judge(options: BehaviourOptions, closing: ExitStack, fetch: _Fetch) -> Judge | None:
    """Return the judge of statements: the configured provider, else the provider that runs the cases."""
    if options.replay:
        return Judge(lambda question: "")  # use recorded verdicts only
    named = options.judge or ("" if options.program is not None else options.provider or "")
    name, _, model = named.partition(":")
    if options.judge is not None and name == "local":
        raise ConfigurationError("The embedded model judges sentences no better than chance; name a service")
    if name in ("", "local"):
        return None
    agent = _agent(name, model or (None if options.judge else options.model), fetch)
    closing.callback(agent.close)
    return Judge(agent.ask, name, in_process=agent.in_process)
