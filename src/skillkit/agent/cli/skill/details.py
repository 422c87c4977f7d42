"""Looking at one skill: info."""

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Folders, examples
from skillkit.agent.cli.overview import find_skill, show_problems
from skillkit.agent.cli.skill_names import SkillName
from skillkit.core.text import count_of, escape_hidden
from skillkit.install.views import SkillDetails, details_view

app = Family()


@app.command(
    "info",
    short_help="Show a skill's origin, capabilities and trust.",
    epilog=examples("agent skill info pdf", "agent skill info ./skills/pdf", "agent skill info pdf --json"),
)
def info(name: SkillName, folders: Folders = None) -> Result:
    """Show everything about one skill: where it is from, what it can do, whether it is trusted."""
    details = SkillDetails.of(*find_skill(name, folders, recovered=True))
    return Result(details_view(details), lambda: _show(details))


def _show(details: SkillDetails) -> None:
    output.facts([*_facts_of_skill(details), *_facts_of_origin(details), *_facts_of_files(details)])
    show_problems(details.status.skill.diagnostics)
    if details.status.refusal is not None:
        output.remark(escape_hidden(details.status.refusal.reason))


def _facts_of_skill(details: SkillDetails) -> list[tuple[str, object]]:
    status, skill = details.status, details.status.skill
    title = escape_hidden(status.installed.mended_from) if status.installed else ""
    return [
        ("name", f"{skill.name} (name derived from '{title}')" if title else skill.name),
        ("description", output.summary(skill.description, 2000)),
        ("version", skill.version or "-"),
        ("author", skill.author or "-"),
        ("license", skill.license or "-"),
        ("active", "yes" if status.active else "no"),
        ("trusted", f"{'yes' if status.trust.trusted else 'no'}: {status.trust.reason}"),
        ("folder", skill.base_dir),
    ]


def _facts_of_origin(details: SkillDetails) -> list[tuple[str, object]]:
    record = details.status.installed
    if record is None:
        return []
    return [
        ("from", record.origin),
        ("commit", record.revision or "-"),
        ("follows", record.source.follows or "nothing (pinned)"),
        ("installed", record.installed_at),
        ("earlier", ", ".join((old.revision or old.digest)[:8] for old in record.previous) or "-"),
    ]


def _facts_of_files(details: SkillDetails) -> list[tuple[str, object]]:
    tree = details.tree
    if details.problem:
        return [("files", details.problem)]
    return [
        ("digest", tree.digest.digest),
        ("size", f"{count_of(len(tree.files), 'file')}, {tree.size:,} bytes"),
        *(("edited", edit) for edit in details.edits),
        *((label, ", ".join(values)) for label, values in details.card.facts()),
        *((("offers", ", ".join(details.tools)),) if details.tools else ()),
    ]
