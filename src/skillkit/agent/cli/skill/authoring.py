"""Writing skills: create, validate."""

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.authoring.copying import copy_skill
from skillkit.agent.authoring.templates import create_skill, template_text
from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import commands
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.cli.overview import find_skill
from skillkit.core.text import escape_hidden
from skillkit.evaluation.clients import CLIENTS, treatments
from skillkit.evaluation.validation import Validation, validate_paths

app = commands()


class Template(str, Enum):
    """What kind of skill to start from."""

    INSTRUCTIONS = "instructions"
    SCRIPTS = "scripts"
    HYBRID = "hybrid"


@app.command(
    "create",
    epilog=examples(
        "agent skill create release-notes",
        "agent skill create csv-report --template scripts",
        "agent skill create mailer --template hybrid --into .agents/skills",
        "agent skill create weather --from kalshi-markets",
    ),
)
def create(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and hyphens.")],
    *,
    template: Annotated[
        Template, typer.Option(help="Instructions only, with scripts, or with a toolset as well.")
    ] = Template.INSTRUCTIONS,
    original: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Copy a bundled skill, or the skill in a folder, instead of a template.",
        ),
    ] = None,
    description: Annotated[str | None, typer.Option(help="What the skill does and when to use it.")] = None,
    into: Annotated[Path, typer.Option(help="The folder that gets the skill's folder.")] = Path("skills"),
    json: Json = False,
) -> None:
    """Start a new skill that is valid from the first minute."""
    if original is not None:
        folder, files = copy_skill(original, name, into, description=description)
    else:
        folder, files = create_skill(name, into, template=template.value, description=description)
    if json:
        output.print_json({"path": str(folder), "files": files})
        return
    for file in files:
        output.say(f"  {escape_hidden(str(folder / file))}", whole=True)
    output.say(
        f"Created {name}. Check it with: agent skill validate {escape_hidden(str(folder))}",
        "green",
        whole=True,
    )


@app.command(
    "validate",
    short_help="Check skills by the specification, and what clients make of them.",
    epilog=examples(
        "agent skill validate ./skills/pdf",
        "agent skill validate skills examples/skills/*/SKILL.md",
        "agent skill validate ./skills/pdf --for codex",
        "agent skill validate . --json",
    ),
)
def validate(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|NAME...",
            help="SKILL.md files, folders of a skill or of skills, or names of skills.",
        ),
    ],
    client: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="CLIENT",
            help="What becomes of each field there: claude-code, codex, claude.ai, spec or all.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check skills against the specification and tell what well-known clients make of them.

    Exit code 1 when a file has errors; with --for, when that client refuses it or nobody could load it.
    Fields that skillkit adds to the specification are warnings.
    """
    if client not in (None, "all", *CLIENTS):
        raise typer.BadParameter(f"'{client}' is none of {', '.join(CLIENTS)}, all", param_hint="--for")
    clients = list(CLIENTS) if client == "all" else [client] if client else []
    results = [
        replace(result, warnings=(*result.warnings, *template_text(result.path)))
        for result in validate_paths([_path(path) for path in paths])
    ]
    refused = [
        result.unloadable or any(result.verdict(name).outcome == "refuses" for name in clients)
        if clients
        else result.errors
        for result in results
    ]
    if json:
        output.print_json({"files": [result.to_data() for result in results]})
    else:
        for result in results:
            if len(results) > 1:
                output.say(escape_hidden(str(result.path.parent)), "bold", whole=True)
            _show(result, clients)
        errors = sum(len(result.errors) for result in results)
        warnings = sum(len(result.warnings) for result in results)
        summed = f"{output.count(errors, 'error')}, {output.count(warnings, 'warning')}"
        if clients:
            summed = f"{sum(map(bool, refused))} refused"
        output.say(f"{len(results)} checked: {summed}", "red" if any(refused) else "green")
    if not results:
        output.complain("No SKILL.md found there.")
        raise typer.Exit(outcome.ERROR)
    raise typer.Exit(outcome.ERROR if any(refused) else outcome.OK)


def _path(target: str) -> Path:
    return Path(target) if Path(target).exists() else find_skill(target)[1].base_dir


_MARKS = {"accepts": "✓", "warns": "!", "refuses": "✗"}


def _show(result: Validation, clients: list[str]) -> None:
    """What is wrong with a file and what clients make of it; of `clients` what becomes of each field, too."""
    for found in result.unloadable if clients else (*result.errors, *result.warnings):
        output.say(str(found), "red" if found in result.errors else "yellow", whole=True)
        if found.code == "undeclared-import":
            folder = escape_hidden(result.path.parent.name)
            output.say(f"  Users accept it with: agent skill packages {folder}", whole=True)
    wanted = {CLIENTS[name].title: name for name in clients}
    for verdict in result.verdicts:
        if clients and verdict.client not in wanted:
            continue
        said = escape_hidden(f"{verdict.client}: {verdict.reason}")
        output.say(f"  {_MARKS[verdict.outcome]} {said}", whole=True)
        for field, treatment in treatments(wanted[verdict.client], result.fields).items() if clients else ():
            output.say(escape_hidden(f"      {field}: {treatment}"), whole=True)
