"""Looking at skills: list, info."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.skill.options import Found, Json, examples
from skillkit.core.text import escape_hidden

if TYPE_CHECKING:
    from skillkit.core.models import Diagnostic
    from skillkit.install.activation import SkillActivation, SkillStatus


def register(app: typer.Typer) -> None:
    app.command(
        "list",
        epilog=examples(
            "agent skill list",
            "agent skill list ./my-skills",
            "agent skill list --json | jq '.skills[].name'",
        ),
    )(list_skills)
    app.command("info", epilog=examples("agent skill info pdf", "agent skill info pdf --json"))(info)


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
    activation = activated(paths or ())
    manager = activation.manager
    statuses = [activation.status(skill) for skill in manager.list_skills()]
    if json:
        output.print_json(
            {
                "skills": [as_data(status) for status in statuses],
                "diagnostics": [diagnostic_as_data(found) for found in manager.diagnostics],
            }
        )
        return
    if not statuses:
        output.remark(
            "No skills found. Write one with: agent skill create NAME — or name a folder: "
            "agent skill list PATH"
        )
    else:
        rows = [
            (
                status.skill.name,
                "yes" if status.active else "no",
                status.skill.version or "-",
                _source(status),
                output.summary(status.skill.description),
            )
            for status in statuses
        ]
        output.table(("Name", "Active", "Version", "Source", "Description"), rows, flexible="Description")
    show_problems(manager.diagnostics)


def info(name: Found, json: Json = False) -> None:
    """Show everything about one skill: where it is from, what it can do, whether it is trusted."""
    from skillkit.install.activation import script_files
    from skillkit.install.capabilities import capabilities
    from skillkit.install.plan import ANY_SIZE
    from skillkit.install.tree import read_folder

    activation = activated()
    skill = activation.manager.get_skill(name)
    status = activation.status(skill)
    tree = read_folder(skill.base_dir, ANY_SIZE)
    card = capabilities(tree, skill)
    record = status.installed
    edits = activation.registry.store.edits(record.stored, record.files) if record else []
    if json:
        output.print_json(
            {
                **as_data(status),
                "digest": tree.digest.digest,
                "edits": [{"kind": edit.kind, "path": edit.path} for edit in edits],
                "scripts": script_files(skill),
                "toolsets": list(skill.toolsets),
                "capabilities": card.as_data(),
                "files": {path: file.size for path, file in sorted(tree.digest.files.items())},
                "diagnostics": [diagnostic_as_data(found) for found in skill.diagnostics],
            }
        )
        return
    rows: list[tuple[str, object]] = [
        ("name", skill.name),
        ("description", output.summary(skill.description, 2000)),
        ("version", skill.version or "-"),
        ("author", skill.author or "-"),
        ("license", skill.license or "-"),
        ("active", "yes" if status.active else f"no: {status.refusal.reason if status.refusal else ''}"),
        ("trusted", f"{'yes' if status.standing.trusted else 'no'}: {status.standing.reason}"),
        ("folder", skill.base_dir),
    ]
    if record is not None:
        rows += [
            ("from", record.origin),
            ("commit", record.commit_sha or "-"),
            ("follows", record.tag or record.branch or "nothing (pinned)"),
            ("installed", record.installed_at),
            ("earlier", ", ".join((old.commit_sha or old.digest)[:8] for old in record.previous) or "-"),
        ]
    rows += [("digest", tree.digest.digest), ("size", f"{len(tree.files)} files, {tree.size:,} bytes")]
    rows += [("edited", edit) for edit in edits]
    rows += [(label, ", ".join(values)) for label, values in card.facts()]
    output.table(("", ""), rows, flexible="")
    show_problems(skill.diagnostics)


def activated(paths: Iterable[Path] = ()) -> "SkillActivation":
    """The skills of the usual places, of skillkit itself and of `paths`, with what is active."""
    import logging

    from skillkit.install.activation import SkillActivation

    logging.getLogger("skillkit").setLevel(logging.CRITICAL)  # the diagnostics are shown instead
    activation = SkillActivation(search=paths)
    for notice in activation.registry.notices:
        output.remark(escape_hidden(notice), "yellow")
    return activation


def as_data(status: "SkillStatus") -> dict[str, object]:
    """What programs learn of a skill."""
    skill, record, refusal = status.skill, status.installed, status.refusal
    return {
        "name": skill.name,
        "name_canonical": skill.canonical_name,
        "description": skill.description,
        "version": skill.version,
        "source": skill.source_label,
        "path": str(skill.base_dir),
        "recovered": skill.recovered,
        "active": status.active,
        "refusal": None if refusal is None else {"code": refusal.code, "reason": refusal.reason},
        "trusted": status.standing.trusted,
        "git_url": record.git_url if record else None,
        "commit_sha": record.commit_sha if record else None,
        "digest": status.standing.digest,
        "script_count": status.scripts,
        "toolset_count": status.toolsets,
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


def _source(status: "SkillStatus") -> str:
    commit = status.installed.commit_sha if status.installed else None
    return f"{status.skill.source_label} {commit[:8]}" if commit else status.skill.source_label
