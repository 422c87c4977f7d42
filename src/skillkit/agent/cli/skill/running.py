"""Running a script as an agent does: run."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.overview import activated
from skillkit.agent.cli.skill.options import Folders, Found, Json, examples
from skillkit.core.text import escape_hidden

if TYPE_CHECKING:
    from skillkit.core.models import SkillMetadata
    from skillkit.install.trust import TrustJudge
    from skillkit.scripts import Grants

_EXIT_CODES = {
    "not_found": outcome.USAGE,
    "invalid_name": outcome.USAGE,
    "args_too_large": outcome.USAGE,
    "permission_denied": outcome.REFUSED,
}


def register(app: typer.Typer) -> None:
    app.command(
        "run",
        # What follows the name of the script is the script's.
        context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
        epilog=examples(
            "agent skill run kalshi-markets",
            "agent skill run hello-extended advanced_greeting --help",
            "agent skill run hello-extended advanced_greeting --name Ada --json",
        ),
    )(run)


def run(
    name: Found,
    script: Annotated[
        str | None, typer.Argument(help="The script; without it, they are listed.", show_default=False)
    ] = None,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGUMENTS]...", help="Given to the script as they are.")
    ] = None,
    *,
    folders: Folders = None,
    json: Json = False,
) -> None:
    """Run a script of a skill as an agent does: in the sandbox, within its limits.

    A trusted skill gets what its header asks for, any other neither network nor variables. Options
    of this command stand before the name of the skill. `--json` there prints the whole answer.
    """
    from skillkit.install.activation import Selection
    from skillkit.scripts import LocalRunner, ScriptTools

    activation = activated(folders or (), selection=Selection("all-untrusted"))
    policy = TrustedGrants(activation.judge)
    runner = LocalRunner()
    try:
        tools = ScriptTools(activation.manager, runner, policy)
        if script is None:
            answer = tools.script_list(name)
        else:
            answer = tools.script_run(name, script, arguments or [], json=False)
    finally:
        runner.close()
    if json:
        output.print_json(answer)
    elif not answer["success"]:
        for line in f"Error: {answer['message']}".splitlines():
            output.remark(escape_hidden(line), "bold red")
    elif script is None:
        _show_scripts(answer["result"])
    else:
        sys.stdout.write(answer["result"])
        for warning in answer["message"].splitlines()[1:]:
            output.remark(escape_hidden(warning), "yellow")
    for reason in policy.withheld:
        output.remark(escape_hidden(reason), "yellow")
    if not answer["success"]:
        raise typer.Exit(_EXIT_CODES.get(answer["error"], outcome.ERROR))


class TrustedGrants:
    """Grants a trusted skill what it asks for; any other runs in an empty sandbox, and it is said."""

    def __init__(self, judge: "TrustJudge") -> None:
        self._judge = judge
        self.withheld: list[str] = []

    def grants(self, skill: "SkillMetadata", digest: str) -> "Grants":
        from skillkit.scripts import Grants

        standing = self._judge.standing(skill)
        if standing.trusted and standing.digest in (None, digest):
            return Grants.as_requested(skill)
        if skill.permissions.network or skill.permissions.env:
            self.withheld.append(
                f"'{skill.name}' is not trusted ({standing.reason}) and ran without what it asks for. "
                f"Approve it with: agent skill trust {skill.canonical_name}"
            )
        return Grants(withheld_env=skill.permissions.env)


def _show_scripts(listed: dict[str, list[dict[str, str]]]) -> None:
    for scripts in listed.values():
        for script in scripts:
            output.say(escape_hidden(script["name"]))
        if not scripts:
            output.remark("This skill has no scripts.")
