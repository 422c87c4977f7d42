"""Writing skills: create, validate."""

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.authoring.copying import copy_python_skill, copy_skill
from skillkit.agent.authoring.templates import create_skill, template_text
from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Format, ReportFormat, examples
from skillkit.agent.cli.overview import find_skill
from skillkit.core.text import count_of, escape_hidden
from skillkit.evaluation.clients import CLIENTS, treatments
from skillkit.evaluation.rendering import rendered
from skillkit.evaluation.validation import Validation, as_report, validate_paths

app = Family()


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
        "agent skill create shop-orders --from-python shop.py",
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
            help="Copy a bundled skill, or one in a folder, instead of a template.",
        ),
    ] = None,
    python: Annotated[
        Path | None,
        typer.Option("--from-python", metavar="FILE", help="Create the skill that a Python file defines."),
    ] = None,
    description: Annotated[str | None, typer.Option(help="What the skill does and when to use it.")] = None,
    into: Annotated[Path, typer.Option(help="Parent folder of the new skill.")] = Path("skills"),
) -> Result:
    """Start a new skill that is valid from the first minute."""
    if python is not None:
        folder, files = copy_python_skill(python, name, into, description=description)
    elif original is not None:
        folder, files = copy_skill(original, name, into, description=description)
    else:
        folder, files = create_skill(name, into, template=template.value, description=description)
    place = escape_hidden(str(folder))

    def show() -> None:
        for file in files:
            output.say(f"  {escape_hidden(str(folder / file))}", whole=True)
        output.say(f"Created {name}. Check it with: agent skill validate {place}", "green", whole=True)

    return Result({"path": str(folder), "files": files}, show)


@app.command(
    "validate",
    short_help="Check skills against the specification and clients.",
    epilog=examples(
        "agent skill validate ./skills/pdf",
        "agent skill validate skills examples/skills/*/SKILL.md",
        "agent skill validate ./skills/pdf --for codex",
        "agent skill validate . --json",
        "agent skill validate skills --format sarif > skills.sarif",
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
            help="Show how a client treats each field: claude-code, codex, claude.ai, spec or all.",
        ),
    ] = None,
    *,
    form: Format = ReportFormat.TEXT,
) -> Result:
    """Check skills against the specification and tell what well-known clients make of them.

    Exit code 1 when a file has errors; with --for, when that client refuses it or nobody could load it.
    Fields that skillkit adds to the specification are warnings.
    """
    if client not in (None, "all", *CLIENTS):
        raise typer.BadParameter(f"'{client}' is not one of {', '.join(CLIENTS)}, all", param_hint="--for")
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
    if not results:
        output.complain("No SKILL.md found.")

    def show() -> None:
        for result in results:
            if len(results) > 1:
                output.say(escape_hidden(str(result.path.parent)), "bold", whole=True)
            _show(result, clients)
        errors = sum(len(result.errors) for result in results)
        warnings = sum(len(result.warnings) for result in results)
        summed = f"{count_of(errors, 'error')}, {count_of(warnings, 'warning')}"
        if clients:
            summed = f"{sum(map(bool, refused))} refused"
        output.say(f"{len(results)} checked: {summed}", "red" if any(refused) else "green")

    failed = any(refused) or not results
    data = {"files": [result.to_data() for result in results]}
    code = outcome.ERROR if failed else outcome.OK
    if form is ReportFormat.TEXT:
        return Result(data, show, code)
    if form is ReportFormat.JSON:
        return Result(data, lambda: output.print_json(data), code)
    text = rendered(as_report(results), form.value, Path.cwd())
    return Result(data, lambda: typer.echo(text, nl=False), code)


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
