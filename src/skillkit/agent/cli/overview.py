"""The skills that are found: as a table, or as data."""

import logging
import sys
from collections.abc import Iterable
from pathlib import Path

from skillkit.agent.cli import output
from skillkit.agent.remedies import advise
from skillkit.agent.settings import SettingsFile
from skillkit.core.codec import encode
from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.exceptions import SkillNotFoundError, SkillParsingError
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.enabled import EnabledSkills
from skillkit.install.record import InstalledSkill
from skillkit.install.selection import Selection


def show_list(paths: Iterable[Path] = (), *, json: bool = False) -> None:
    """Print the skills of the usual places and of `paths`; problems go to stderr."""
    enabled = enabled_skills(paths)
    manager = enabled.manager
    skills = manager.list_skills()
    if json:
        from skillkit.install.views import status_view

        output.print_json(
            {
                "skills": [status_view(enabled.status(skill)) for skill in skills],
                "diagnostics": [encode(found) for found in manager.diagnostics],
            }
        )
        return
    if not skills:
        output.remark(
            "No skills found. Write one with: agent skill create NAME — or name a folder: "
            "agent skill list PATH"
        )
    else:
        # Whether a skill is trusted is asked only where it matters: it takes reading all of its files.
        rows = [
            (
                skill.name,
                "no" if manager.refusal(skill) else "yes",
                skill.version or "-",
                _source(skill.source_label, record),
                output.summary(skill.description, title=record.mended_from if record else ""),
            )
            for skill, record in ((skill, enabled.authority.installed(skill)) for skill in skills)
        ]
        output.table(("Name", "Active", "Version", "Source", "Description"), rows, flexible="Description")
        if all(active == "no" for _, active, *_ in rows):
            output.remark("None is active. To use one: agent skill enable NAME")
    show_problems(manager.diagnostics)


def enabled_skills(
    paths: Iterable[Path] = (),
    *,
    selection: Selection | None = None,
    journal: Writer = NO_JOURNAL,
) -> EnabledSkills:
    """The skills of the usual places, of skillkit itself and of `paths`, with what is active.

    Commands by which skills are used give a `journal`; those that only show them have nothing to record.
    """
    logging.getLogger("skillkit").setLevel(logging.CRITICAL)  # the diagnostics are shown instead
    hidden = () if journal is NO_JOURNAL else SettingsFile().load().hidden
    enabled = EnabledSkills(search=paths, selection=selection, journal=journal, advise=advise, hidden=hidden)
    for notice in enabled.registry.notices:
        output.remark(escape_hidden(notice), "yellow")
    return enabled


def get_loaded_skill(enabled: EnabledSkills, name: str) -> SkillMetadata:
    """Return the skill of that name; one that could not be loaded has an error of its own."""
    try:
        return enabled.manager.get_skill(name)
    except SkillNotFoundError:
        for diagnostic in enabled.manager.diagnostics:
            folder = diagnostic.path.parent.name
            if diagnostic.severity.value == "error" and canonical_name(folder) == canonical_name(name):
                raise SkillParsingError(f"Skill '{name}' cannot be loaded: {diagnostic}") from None
        raise


def show_problems(diagnostics: Iterable[Diagnostic]) -> None:
    """Errors and warnings on stderr, one line each."""
    sys.stdout.flush()
    for found in diagnostics:
        if found.severity.value != "info":
            style = "red" if found.severity.value == "error" else "yellow"
            output.console(stderr=True).print(output.shown(str(found), style), soft_wrap=True)


def _source(label: str, record: InstalledSkill | None) -> str:
    return f"{label} {record.revision[:8]}" if record and record.revision else label
