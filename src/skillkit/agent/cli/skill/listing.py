"""Looking at skills: list."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import output

if TYPE_CHECKING:
    from skillkit.core.manager import SkillManager
    from skillkit.core.models import Diagnostic, SkillMetadata

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

LIST_EXAMPLES = """\b
Examples:
  agent skill list
  agent skill list ./my-skills
  agent skill list --json | jq '.skills[].name'
"""


def register(app: typer.Typer) -> None:
    app.command("list", epilog=LIST_EXAMPLES)(list_skills)


def list_skills(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            exists=True,
            file_okay=False,
            help="More folders to search, besides the usual places.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the skills that are found, and what is wrong with those that are not."""
    manager = discovered(paths or ())
    skills = manager.list_skills()
    if json:
        output.print_json(
            {
                "skills": [as_data(skill, manager) for skill in skills],
                "diagnostics": [diagnostic_as_data(found) for found in manager.diagnostics],
            }
        )
        return
    if not skills:
        output.remark(
            "No skills found. Write one with: agent skill create NAME — or name a folder: "
            "agent skill list PATH"
        )
    else:
        rows = [(skill.name, skill.source_label, output.summary(skill.description)) for skill in skills]
        output.table(("Name", "Source", "Description"), rows, flexible="Description")
    show_problems(manager.diagnostics)


def discovered(paths: Iterable[Path] = ()) -> "SkillManager":
    """A manager that has searched the usual places, what ships with skillkit, and `paths`."""
    import logging

    from skillkit.core.manager import SkillManager

    logging.getLogger("skillkit").setLevel(logging.CRITICAL)  # the diagnostics are shown instead
    manager = SkillManager(additional_search_paths=list(paths), default_sources=True, bundled=True)
    manager.discover()
    return manager


def as_data(skill: "SkillMetadata", manager: "SkillManager") -> dict[str, object]:
    """What programs learn of a skill."""
    refusal = manager.refusal(skill)
    return {
        "name": skill.name,
        "name_canonical": skill.canonical_name,
        "description": skill.description,
        "version": skill.version,
        "source": skill.source_label,
        "path": str(skill.base_dir),
        "recovered": skill.recovered,
        "refusal": None if refusal is None else {"code": refusal.code, "reason": refusal.reason},
    }


def diagnostic_as_data(found: "Diagnostic") -> dict[str, object]:
    return {
        "path": str(found.path),
        "line": found.line,
        "column": found.column,
        "severity": found.severity.value,
        "code": found.code,
        "message": found.message,
    }


def show_problems(diagnostics: "Iterable[Diagnostic]") -> None:
    """Errors and warnings on stderr, one line each."""
    for found in diagnostics:
        if found.severity.value != "info":
            style = "red" if found.severity.value == "error" else "yellow"
            output.console(stderr=True).print(output.shown(str(found), style))
