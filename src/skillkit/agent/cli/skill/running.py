"""Running a skill's script by hand: run."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.asking import Asker
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Folders, Json, examples
from skillkit.agent.cli.overview import enabled_skills, find_skill
from skillkit.agent.cli.progress import Progress
from skillkit.agent.cli.skill_names import SkillName, complete_script
from skillkit.agent.journal import open_journal
from skillkit.agent.script_answers import ReportedOutputs, find_remedy
from skillkit.core.authority import current_requester
from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import real_path
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.text import HIDDEN, escape_hidden
from skillkit.install.consents import project_consent
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import Selection
from skillkit.scripts.inputs import named_in_project, named_inputs, working_project
from skillkit.scripts.runner import LocalRunner
from skillkit.scripts.runners import can_show_folders, default_runner
from skillkit.scripts.tools import ScriptTools

app = Family()


@app.command(
    "run",
    short_help="Run a skill's script as an agent would, in the sandbox.",
    context_settings={"allow_interspersed_args": False},
    epilog=examples(
        "agent skill run hello-extended                          (its scripts)",
        "agent skill run hello-extended advanced_greeting --help",
        "agent skill run ./skills/csv-report summarise @sales.csv",
        "agent skill run --json kalshi-markets status",
        "agent skill run pdf extract @report.pdf   (@: a file of yours that the script may read)",
    ),
)
def run(
    name: SkillName,
    script: Annotated[
        str | None,
        typer.Argument(help="Script to run; lists scripts if omitted.", autocompletion=complete_script),
    ] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments for the script.")] = None,
    folders: Folders = None,
    json: Json = False,
) -> Result:
    """Run a script of a skill as an agent would: in the sandbox, with what its trust grants."""
    called = " ".join([*(f"--in {shlex.quote(str(folder))}" for folder in folders or ()), shlex.quote(name)])
    enabled, name = _find(name, folders, json=json)
    if script in ("--help", "-h"):
        script = None
    progress = Progress(silent=json or not output.console(stderr=True).is_terminal)
    runner = default_runner()
    if isinstance(runner, LocalRunner):
        runner.follow = lambda _, line: progress(line)
    tools = ScriptTools(enabled.manager, runner, outputs=ReportedOutputs(output.remark), remedy=find_remedy)
    if script is None:
        payload = tools.script_list(name)
    else:
        given = _after_dashes(arguments or [])
        with progress:
            if given in (["--help"], ["-h"]):
                payload = tools.script_help(name, script)
            else:
                if not json and can_show_folders(runner):
                    _ask_for_folder(enabled, name, given)
                payload = tools.script_run(name, script, given, json=json, inputs=_inputs(given))

    def show() -> None:
        if not payload["success"]:
            output.complain(str(payload["message"]))
        elif script is None:
            _print_scripts(next(iter(payload["result"].values())), called)
        else:
            _print_result(payload["result"], str(payload["message"]))

    return Result(payload, show, _code(payload))


def _after_dashes(arguments: list[str]) -> list[str]:
    """Return the script's arguments: a first `--` ends our own options."""
    return arguments[1:] if arguments[:1] == ["--"] else arguments


def _find(name: str, folders: list[Path] | None, *, json: bool) -> tuple[EnabledSkills, str]:
    """Find the skill; naming it selects it, but does not trust it."""
    everything, journal = Selection("all"), open_journal()
    try:
        enabled, skill = find_skill(name, folders, selection=everything, journal=journal)
    except SkillsUseError:
        if not json:
            raise
        return enabled_skills(folders or (), selection=everything, journal=journal), name
    return enabled, skill.name


def _print_scripts(scripts: Sequence[Mapping[str, str]], called: str) -> None:
    names = [escape_hidden(script["name"]) for script in scripts]
    for name in names:
        output.say(name)
    if names:
        output.remark(f"How to call one: agent skill run {called} {shlex.quote(names[0])} --help")


def _ask_for_folder(enabled: EnabledSkills, name: str, arguments: list[str]) -> None:
    """Ask, at a terminal, whether scripts may read the folder that the arguments name something of.

    The yes is remembered for this version of the skill and this folder.
    """
    asker = Asker(Progress(silent=True))
    skill = enabled.manager.get_skill(name)
    project = working_project()
    if not asker.interactive or project is None or enabled.manager.refusal(skill) is not None:
        return
    digest = tree_digests.with_links(skill.base_dir).digest
    granted = enabled.authority.grants(skill, digest, current_requester())
    unseen = [word for word in arguments if not word.startswith("@")]
    if granted.project is not None or not named_in_project(unseen, project, real_path(skill.base_dir)):
        return
    shown = f"{escape_hidden(str(project))}, without keys, .env and the like"
    if asker.confirm(f"Let scripts of {escape_hidden(skill.name)}, as they are now, read {shown}?"):
        consent = project_consent(skill.canonical_name, digest, project, enabled.authority.hidden)
        enabled.registry.consents.grant(consent)


def _print_result(result: object, message: str) -> None:
    if isinstance(result, dict) and "help_text" in result:
        if "source" in result:  # the script did not print it
            output.remark("\n".join(map(escape_hidden, message.splitlines())), "yellow")
        result = result["help_text"]
    text = HIDDEN.sub(lambda match: escape_hidden(match.group()), str(result))
    typer.echo(text, nl=not text.endswith("\n"))


def _inputs(arguments: list[str]) -> dict[str, Path]:
    """Take `@file` for a file that the script may read; an `@` of another kind stays as it is."""
    marked = [word for word in arguments if word.startswith("@") and Path(word[1:]).is_file()]
    return named_inputs(tuple(dict.fromkeys(Path(word[1:]) for word in marked)))


def _code(payload: dict[str, object]) -> int:
    if payload["success"]:
        return outcome.OK
    return outcome.REFUSED if payload["error"] == "permission_denied" else outcome.ERROR
