"""Looking at all skills: list."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Json, Long, examples
from skillkit.agent.cli.overview import enabled_skills, none_active, show_problems
from skillkit.core.codec import encode
from skillkit.core.models import SkillMetadata
from skillkit.install.enabled import EnabledSkills
from skillkit.install.record import InstalledSkill

app = Family()


@app.command("ls", hidden=True)
@app.command(
    "list",
    short_help="List skills, and problems with those left out.",
    epilog=examples(
        "agent skill list",
        "agent skill list --long",
        "agent skill list ./my-skills",
        "agent skill list --json | jq '.skills[].name'",
    ),
)
def list_skills(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            exists=True,
            file_okay=False,
            help="More folders to search.",
        ),
    ] = None,
    long: Long = False,
    json: Json = False,
) -> Result:
    """List the skills that are found, and what is wrong with those that are not."""
    enabled = enabled_skills(paths or ())
    manager = enabled.manager
    skills = manager.list_skills()
    data: dict[str, object] = {}
    if json:  # whether a skill is trusted takes reading all of its files
        from skillkit.install.views import status_view

        data["skills"] = [status_view(enabled.status(skill)) for skill in skills]
        data["diagnostics"] = [encode(found) for found in manager.diagnostics]
    return Result(data, lambda: _show(enabled, skills, long=long))


def _show(enabled: EnabledSkills, skills: Sequence[SkillMetadata], *, long: bool) -> None:
    manager = enabled.manager
    if not skills:
        output.remark(
            "No skills found. To look elsewhere, name a folder. To write one: agent skill create my-skill"
        )
    else:
        refused = {skill.name: manager.refusal(skill) for skill in skills}
        rows = [
            (
                skill.name,
                "no" if refused[skill.name] else "yes",
                skill.version or "-",
                _source(skill.source_label, record),
                output.summary(skill.description, title=record.mended_from if record else ""),
            )
            for skill, record in ((skill, enabled.authority.installed(skill)) for skill in skills)
        ]
        if long:
            columns = ("Name", "Active", "Version", "Source", "Description")
            output.table(columns, rows, flexible="Description")
        else:
            short = [(name, active, description) for name, active, *_, description in rows]
            output.short_table(("Name", "Active", "Description"), short)
        if all(refused.values()):
            output.remark(none_active(refused.values()))
    show_problems(manager.diagnostics)


def _source(label: str, record: InstalledSkill | None) -> str:
    return f"{label} {record.revision[:8]}" if record and record.revision else label
