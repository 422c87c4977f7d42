"""The skills of this machine, as commands find them, and what is wrong with those that are not found."""

import logging
import sys
from collections.abc import Iterable
from pathlib import Path

from skillkit.agent.cli import output
from skillkit.agent.remedies import advise
from skillkit.agent.settings import SettingsFile
from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.exceptions import SkillNotFoundError, SkillParsingError
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import Selection


def enabled_skills(
    paths: Iterable[Path] = (),
    *,
    selection: Selection | None = None,
    journal: Writer = NO_JOURNAL,
    recovered: bool = False,
) -> EnabledSkills:
    """The skills of the usual places, of skillkit itself and of `paths`, with what is active.

    Commands by which skills are used give a `journal`; those that only show them have nothing to record.
    """
    logging.getLogger("skillkit").setLevel(logging.CRITICAL)  # the diagnostics are shown instead
    hidden = () if journal is NO_JOURNAL else SettingsFile().load().hidden
    enabled = EnabledSkills(
        search=paths,
        selection=selection,
        journal=journal,
        advise=advise,
        hidden=hidden,
        recovered=recovered,
    )
    for notice in enabled.registry.notices:
        output.warn(notice)
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
