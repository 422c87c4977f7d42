"""Does it trigger, does it work, does it help: test."""

from collections.abc import Callable
from difflib import unified_diff
from functools import reduce
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.authoring.templates import template_text
from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.asking import Asker, fetch_first
from skillkit.agent.cli.evaluations import show_difference, show_discovered, show_report
from skillkit.agent.cli.families import Family
from skillkit.agent.cli.options import Folders, Format, Json, MatchingMode, ReportFormat, examples
from skillkit.agent.cli.overview import enabled_skills, show_problems
from skillkit.agent.cli.progress import Progress
from skillkit.agent.cli.skill_names import complete_found
from skillkit.agent.journal import open_journal
from skillkit.core.disk import agent_home, replace_file
from skillkit.core.events import Event, Kind
from skillkit.core.events import Json as JsonValue
from skillkit.core.exceptions import ConfigurationError, SkillNotFoundError
from skillkit.core.foreign_json import read_json
from skillkit.core.sources import is_kept_as_is
from skillkit.core.text import escape_hidden
from skillkit.evaluation.archive import ReportArchive
from skillkit.evaluation.discovery import Targets, find_suites, find_targets, skills_in
from skillkit.evaluation.rendering import rendered
from skillkit.evaluation.report import BAD, GOOD, CaseOutcome, Report, merge, pass_rate
from skillkit.evaluation.routing import canonical
from skillkit.evaluation.tester import SkillTester

if TYPE_CHECKING:
    from skillkit.agent.behaviour_tests import BehaviourOptions
    from skillkit.agent.models.provider import ChatProvider
    from skillkit.evaluation.report import Comparison

app = Family()

_TIERS = ("static", "routing", "scripts", "behaviour")
_WITHOUT_MODEL = _TIERS[:3]


def _percent(share: float | None) -> float | None:
    """Reject values up to 1, which are probably meant as fractions."""
    if share is not None and 0 < share <= 1:
        raise typer.BadParameter(f"{share:g} would be {share:g} %; it is in percent: say {100 * share:g}")
    return share


@app.command(
    "test",
    short_help="Test skills: files, routing of requests, scripts, behaviour.",
    epilog=examples(
        "agent skill test ./my-skill",
        "agent skill test ./skills --among ~/.agents/skills --junit report.xml",
        "agent skill test triggers.json --skill csv-report --tier routing",
        "agent skill test . --discover",
    ),
)
def run_tests(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH|NAME]...",
            help="Skills, folders, case files or names; default: this folder.",
            autocompletion=complete_found,
        ),
    ] = None,
    *,
    tier: Annotated[
        list[str] | None,
        typer.Option(help="static, routing, scripts or behaviour; repeatable; default: the first three."),
    ] = None,
    skill: Annotated[
        str | None,
        typer.Option(help="Skill for cases that name none.", autocompletion=complete_found),
    ] = None,
    among: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Folder of competing skills; repeatable.",
        ),
    ] = None,
    folders: Folders = None,
    mode: MatchingMode = None,
    discover: Annotated[bool, typer.Option("--discover", help="List case files without testing.")] = False,
    run: Annotated[bool, typer.Option("--run/--no-run", help="Run scripts, in the sandbox.")] = True,
    update: Annotated[
        bool,
        typer.Option("--update", help="Update case files with current script results, after confirmation."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Apply --update without asking.")] = False,
    provider: Annotated[str | None, typer.Option(help="Run behaviour with this provider.")] = None,
    model: Annotated[str | None, typer.Option(help="The provider's model.")] = None,
    program: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="PROGRAM",
            help="Run behaviour with another program: claude, codex, or a command with {prompt}.",
        ),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="PROVIDER[:MODEL]", help="Who judges sentences.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs per case.")] = 1,
    baseline: Annotated[
        bool, typer.Option("--baseline/--no-baseline", help="Also run each case without the skill.")
    ] = True,
    replay: Annotated[
        bool, typer.Option("--replay", help="Run behaviour from recordings only, without a model.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Reuse earlier recordings, and run the rest.")
    ] = False,
    ask_again: Annotated[
        bool,
        typer.Option(
            "--ask-again",
            help="With --resume: repeat interrupted requests.",
        ),
    ] = False,
    accept_stale: Annotated[
        bool, typer.Option("--accept-stale", help="Use recordings of an earlier version of the skill.")
    ] = False,
    recordings: Annotated[
        Path | None, typer.Option(file_okay=False, help="Where recordings are kept.")
    ] = None,
    max_calls: Annotated[int | None, typer.Option(min=1, help="Stop after this many model requests.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Stop after this many tokens.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Stop at this cost in USD.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the report as JSON.")] = None,
    annotations: Annotated[bool, typer.Option("--annotations", help="Print GitHub annotations.")] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            callback=_percent,
            help="Exit 1 only if fewer than this percentage pass, such as 90.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Earlier report to compare with; exit 3 on regressions."
        ),
    ] = None,
    form: Format = ReportFormat.TEXT,
    json: Json = False,
) -> None:
    """Test skills: their files, the requests that should bring them, their scripts."""
    wanted = _tiers(tier, behaviour=replay or program is not None or provider is not None)
    paths = [Path(target) for target in targets or ["."] if Path(target).exists()]
    names = [target for target in targets or ["."] if not Path(target).exists()]
    _refuse_missing(names)
    if discover:
        show_discovered(find_suites(paths, skill), json=json)
        return
    tester = _tester(paths, names, skill, among or [], folders or [], mode=mode, run=run)
    with Progress() as progress:
        tester.progress = progress
        options = None
        if "behaviour" in wanted:
            from skillkit.agent.behaviour_tests import BehaviourOptions

            options = BehaviourOptions(
                provider, model, program, judge, runs, baseline, replay, resume, ask_again, accept_stale,
                recordings, max_calls, max_tokens, max_cost,
            )  # fmt: skip
        found = _run(tester, wanted, Asker(progress, yes=yes), options, update=update)
    _record(found)
    for each in tester.skills:
        show_problems(template_text(each.skill_path))
    difference = None if against is None else _compared(against, found)
    data = found.as_data()
    if difference is not None:
        data["comparison"] = difference.as_data()
    if junit is not None:
        replace_file(junit, rendered(found, "junit", Path.cwd()).encode())
    if html is not None:
        from skillkit.evaluation.html_page import html_page

        replace_file(html, html_page(found).encode())
    if report is not None:
        replace_file(report, (dumps(data, indent=1, ensure_ascii=True, default=str) + "\n").encode())
    if json or form is ReportFormat.JSON:
        output.print_json(data)
    elif form is not ReportFormat.TEXT:
        typer.echo(rendered(found, form.value, Path.cwd()), nl=False)
    else:
        show_report(found)
        if difference is not None:
            show_difference(difference)
    if annotations:
        typer.echo(rendered(found, "github", Path.cwd()), nl=False)
    raise typer.Exit(_code(found, difference, fail_under))


def _refuse_missing(names: list[str]) -> None:
    """Refuse what is written as a path and is not there: it is the name of no skill."""
    for name in names:
        if len(Path(name).parts) > 1 or name.startswith("."):
            raise typer.BadParameter(f"There is no file or folder {escape_hidden(name)}")


def _tiers(given: list[str] | None, *, behaviour: bool) -> list[str]:
    default = ("behaviour",) if behaviour else _WITHOUT_MODEL
    named = (name.strip() for some in given or default for name in some.split(","))
    wanted = ["behaviour" if name == "behavior" else name for name in named if name]
    for name in wanted:
        if name not in _TIERS:
            raise typer.BadParameter(
                f"'{name}' is not a tier; choose from {', '.join(_TIERS)}", param_hint="--tier"
            )
    return wanted


def _tester(
    paths: list[Path],
    names: list[str],
    skill: str | None,
    among: list[Path],
    folders: list[Path],
    *,
    mode: str | None,
    run: bool,
) -> SkillTester:
    targets = find_targets(paths) if paths else Targets()
    skills, neighbours = list(targets.skills), []
    if names or targets.alone or folders:
        enabled = enabled_skills(folders)
        neighbours = enabled.manager.list_skills()
        for name in names:
            try:
                skills.append(enabled.manager.get_skill(name))
            except SkillNotFoundError as error:
                message = f"No file, folder or skill is called {escape_hidden(name)}"
                raise typer.BadParameter(message) from error
        named = {suite.skill for suite in targets.suites.suites} | {skill}  # whom files of cases are about
        about = {canonical(name) for name in named if name}
        skills += [each for each in neighbours if each.canonical_name in about]
        suites = find_suites([*paths, *(enabled.manager.get_skill(name).base_dir for name in names)], skill)
    else:
        suites = targets.suites
    if among:
        neighbours += skills_in(among).list_skills()
    if not skills and not targets.unloadable and not any(suite.cases for suite in suites.suites):
        reasons = "".join(f"\n{found.path} {found.reason}" for found in suites.unreadable[:5])
        places = ", ".join(map(str, paths)) or "nothing"
        raise ConfigurationError(f"There are no skills and no cases in {places}.{reasons}")
    tester = SkillTester(skills, suites, neighbours, mode, skill, unloadable=targets.unloadable)
    if run:
        from skillkit.evaluation.script_runs import sandboxed_scripts

        tester.scripts = sandboxed_scripts(tester.skills)
    return tester


def _run(
    tester: SkillTester, tiers: list[str], asker: Asker, options: "BehaviourOptions | None", *, update: bool
) -> Report:
    work: dict[str, Callable[[], Report]] = {
        "static": tester.run_static,
        "routing": tester.run_routing,
        "scripts": lambda: _run_scripts(tester, asker, update=update),
        "behaviour": lambda: _run_behaviour(tester, asker, options),
    }
    wanted = [name for name in _TIERS if name in tiers and (name != "scripts" or tester.scripts is not None)]
    parts = [work[name]() for name in wanted]
    return reduce(merge, parts) if parts else tester.report((), {})


def _run_behaviour(tester: SkillTester, asker: Asker, options: "BehaviourOptions | None") -> Report:
    from skillkit.agent.behaviour_tests import run_behaviour

    assert options is not None
    return run_behaviour(
        tester,
        options,
        lambda estimate: asker.confirm(f"Run this? {estimate}"),
        tester.progress,
        lambda provider: _fetch(provider, asker),
    )


def _fetch(provider: "ChatProvider", asker: Asker) -> None:
    asker.progress.pause()
    fetch_first(provider)


def _run_scripts(tester: SkillTester, asker: Asker, *, update: bool) -> Report:
    """Run the cases; with `update` show what would be written and write it when that is agreed to."""
    from skillkit.evaluation.updating import updated_document

    report, seen = tester.run_scripts()
    written = False
    for path, observed in seen.items() if update else ():
        text = updated_document(path, observed)
        if text is None:
            continue
        if is_kept_as_is(path):
            output.warn(f"{path} is part of an installed skill and stays as it is: --update your own copy.")
            continue
        before = path.read_text(encoding="utf-8").splitlines()
        for line in unified_diff(before, text.splitlines(), str(path), str(path), lineterm="", n=2):
            output.remark(escape_hidden(line))
        if asker.confirm(f"Write this to {path}?"):
            replace_file(path, text.encode())
            written = True
        else:
            output.remark(f"Nothing was written to {path}; --yes writes without asking.")
    if written:
        tester.reread()
        report, _ = tester.run_scripts()
    return report


def _compared(path: Path, found: Report) -> "Comparison":
    from skillkit.evaluation.report import compare

    return compare(_earlier(path), found)


def _earlier(path: Path) -> Report:
    try:
        return Report.from_data(read_json(path))
    except ValueError as error:
        raise ConfigurationError(f"{path} is not a test report: {error}", "against", str(path)) from error


def _record(found: Report) -> None:
    """Keep the report, and one event a skill in the journal, for whoever looks at tests over time."""
    try:
        kept = ReportArchive(agent_home() / "tests").keep(found)
    except OSError as error:
        output.remark(f"The report was not kept for later comparison: {error}", "yellow")
        kept = ""
    journal = open_journal()
    for skill in found.skills:
        results = [result for result in found.results if result.skill == skill.name]
        if results:
            data: dict[str, JsonValue] = {
                "passed": sum(result.outcome in GOOD for result in results),
                "failed": sum(result.outcome in BAD for result in results),
                "not_judged": sum(result.outcome is CaseOutcome.NOT_JUDGED for result in results),
                "not_run": sum(result.outcome is CaseOutcome.SKIPPED for result in results),
                "pass_rate": pass_rate(results),
                "tiers": [*sorted({result.tier.value for result in results})],
                "report": kept,
            }
            journal.record(Event(Kind.TESTED, skill.name, skill.digest, data))
    journal.close()


def _code(found: Report, difference: "Comparison | None", under: float | None) -> int:
    if difference is not None and difference.is_worse:
        return outcome.DRIFT
    if not found.complete:
        return outcome.ERROR
    if under is not None:
        rate = found.pass_rate
        if rate is None or rate * 100 >= under:
            return outcome.OK
        output.remark(f"{rate:.1%} passed, less than the {under:g}% of --fail-under", "red")
        return outcome.ERROR
    return outcome.ERROR if found.failed or not found.results else outcome.OK
