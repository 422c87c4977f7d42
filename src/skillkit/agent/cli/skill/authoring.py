"""Writing skills: create, validate."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.options import Json, examples
from skillkit.core.text import escape_hidden

if TYPE_CHECKING:
    from skillkit.agent.authoring.validation import Validation


class Template(str, Enum):
    """What kind of skill to start from."""

    INSTRUCTIONS = "instructions"
    SCRIPTS = "scripts"
    HYBRID = "hybrid"


def register(app: typer.Typer) -> None:
    app.command(
        "create",
        epilog=examples(
            "agent skill create release-notes",
            "agent skill create csv-report --template scripts",
            "agent skill create mailer --template hybrid --into .agents/skills",
            "agent skill create weather --from kalshi-markets",
        ),
    )(create)
    app.command(
        "validate",
        short_help="Check skills by the specification, and what clients make of them.",
        epilog=examples(
            "agent skill validate ./skills/pdf",
            "agent skill validate skills examples/skills/*/SKILL.md",
            "agent skill validate . --json",
        ),
    )(validate)


def create(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and hyphens.", show_default=False)],
    *,
    template: Annotated[
        Template, typer.Option(help="Instructions only, with scripts, or with a toolset as well.")
    ] = Template.INSTRUCTIONS,
    original: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Copy a bundled skill, or the skill in a folder, instead of a template.",
            show_default=False,
        ),
    ] = None,
    description: Annotated[
        str | None, typer.Option(help="What the skill does and when to use it.", show_default=False)
    ] = None,
    into: Annotated[Path, typer.Option(help="The folder that gets the skill's folder.")] = Path("skills"),
    json: Json = False,
) -> None:
    """Start a new skill that is valid from the first minute."""
    if original is not None:
        from skillkit.agent.authoring.copying import copy_skill

        folder, files = copy_skill(original, name, into, description=description)
    else:
        from skillkit.agent.authoring.templates import create_skill

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


def validate(
    paths: Annotated[
        list[Path],
        typer.Argument(
            exists=True, help="SKILL.md files, folders of a skill, or folders of skills.", show_default=False
        ),
    ],
    json: Json = False,
) -> None:
    """Check skills against the specification and tell what well-known clients make of them.

    Exit code 1 when a file has errors. Fields that skillkit adds to the specification are warnings.
    """
    from skillkit.agent.authoring.validation import validate_paths

    results = validate_paths(paths)
    if json:
        output.print_json({"files": [result.to_data() for result in results]})
    else:
        for result in results:
            if len(results) > 1:
                output.console().print(output.shown(result.path.parent, "bold"), soft_wrap=True)
            _show(result)
        errors = sum(len(result.errors) for result in results)
        warnings = sum(len(result.warnings) for result in results)
        output.say(
            f"{len(results)} checked: {output.count(errors, 'error')}, {output.count(warnings, 'warning')}",
            "red" if errors else "green",
        )
    if not results:
        output.complain("No SKILL.md found there.")
        raise typer.Exit(outcome.ERROR)
    raise typer.Exit(outcome.ERROR if any(result.errors for result in results) else outcome.OK)


def _show(result: "Validation") -> None:
    for found in (*result.errors, *result.warnings):
        style = "red" if found in result.errors else "yellow"
        output.console().print(output.shown(str(found), style), soft_wrap=True)
    for verdict in result.verdicts:
        mark = {"accepts": "✓", "warns": "!", "refuses": "✗"}[verdict.outcome]
        output.console().print(output.shown(f"  {mark} {verdict.client}: {verdict.reason}"), soft_wrap=True)
