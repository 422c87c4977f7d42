"""Looking at skills: list, info."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.options import Found, Json, examples
from skillkit.agent.cli.overview import (
    as_data,
    diagnostic_as_data,
    enabled_skills,
    found,
    show_list,
    show_problems,
)

if TYPE_CHECKING:
    from skillkit.core.models import SkillMetadata
    from skillkit.install.tree import SkillTree


def register(app: typer.Typer) -> None:
    app.command(
        "list",
        short_help="List the skills, and what is wrong with those left out.",
        epilog=examples(
            "agent skill list",
            "agent skill list ./my-skills",
            "agent skill list --json | jq '.skills[].name'",
        ),
    )(list_skills)
    app.command(
        "info",
        short_help="Show where a skill is from, what it can do, and its trust.",
        epilog=examples("agent skill info pdf", "agent skill info pdf --json"),
    )(info)


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
    show_list(paths or (), json=json)


def info(name: Found, json: Json = False) -> None:
    """Show everything about one skill: where it is from, what it can do, whether it is trusted."""
    from skillkit.install.capabilities import capabilities
    from skillkit.install.tree import ANY_SIZE, read_folder
    from skillkit.toolsets.declared import declared_tools

    enabled = enabled_skills()
    skill = found(enabled, name)
    status = enabled.status(skill)
    tree = _as_shipped(read_folder(skill.base_dir, ANY_SIZE), skill)
    card = capabilities(tree, skill)
    tools = declared_tools(skill, lambda path: tree.files[path].content if path in tree.files else None)
    record = status.installed
    edits = enabled.registry.store.edits(record.stored, record.files) if record else []
    if json:
        output.print_json(
            {
                **as_data(status),
                "digest": tree.digest.digest,
                "edits": [{"kind": edit.kind, "path": edit.path} for edit in edits],
                "scripts": list(status.scripts),
                "toolsets": list(skill.toolsets),
                "tools": tools,
                "capabilities": card.as_data(),
                "files": {path: file.size for path, file in sorted(tree.digest.files.items())},
                "diagnostics": [diagnostic_as_data(problem) for problem in skill.diagnostics],
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
            ("commit", record.revision or "-"),
            ("follows", record.source.follows or "nothing (pinned)"),
            ("installed", record.installed_at),
            ("earlier", ", ".join((old.revision or old.digest)[:8] for old in record.previous) or "-"),
        ]
    rows += [("digest", tree.digest.digest), ("size", f"{len(tree.files)} files, {tree.size:,} bytes")]
    rows += [("edited", edit) for edit in edits]
    rows += [(label, ", ".join(values)) for label, values in card.facts()]
    rows += [("offers", ", ".join(tools))] if tools else []
    output.facts(rows)
    show_problems(skill.diagnostics)


def _as_shipped(tree: "SkillTree", skill: "SkillMetadata") -> "SkillTree":
    """A bundled skill without the bytecode that installing skillkit left beside it."""
    from skillkit.install.tree import SkillTree

    if skill.source_label != "bundled":
        return tree
    return SkillTree(
        {path: file for path, file in tree.files.items() if "__pycache__" not in path.split("/")}
    )
