"""The skills of this machine, as commands find them, and what is wrong with those that are not found."""

import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from skillkit.agent.cli import output
from skillkit.agent.settings import SettingsFile
from skillkit.core.availability import Refusal
from skillkit.core.disk import real_path
from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.exceptions import SkillNotFoundError, SkillParsingError
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
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
        search=paths, selection=selection, journal=journal, hidden=hidden, recovered=recovered
    )
    for notice in enabled.registry.notices:
        output.warn(notice)
    return enabled


def find_skill(
    name: str,
    folders: Iterable[Path] | None = None,
    *,
    selection: Selection | None = None,
    journal: Writer = NO_JOURNAL,
    recovered: bool = False,
) -> tuple[EnabledSkills, SkillMetadata]:
    """Return all found skills, and the one with this name or folder."""
    paths = tuple(folders or ())
    enabled = enabled_skills(paths, selection=selection, journal=journal, recovered=recovered)
    folder = Path(name).parent if name.endswith("SKILL.md") else Path(name)
    if not (folder / "SKILL.md").is_file() or (os.sep not in name and enabled.manager.find_skill(name)):
        return enabled, get_loaded_skill(enabled, name)
    if (skill := _skill_at(enabled, folder)) is None:
        paths = (*paths, folder)
        enabled = enabled_skills(paths, selection=selection, journal=journal, recovered=recovered)
        skill = _skill_at(enabled, folder)
    if skill is None:
        other = get_loaded_skill(enabled, folder.resolve().name)
        raise SkillNotFoundError(f"{folder} is not used: '{other.name}' is also in {other.base_dir}")
    return enabled, skill


def _skill_at(enabled: EnabledSkills, folder: Path) -> SkillMetadata | None:
    place = real_path(folder)
    found = (skill for skill in enabled.manager.list_skills() if real_path(skill.base_dir) == place)
    return next(found, None)


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


def none_active(refusals: Iterable[Refusal | None]) -> str:
    """Say that no skill is active, and the command that changes it for the likeliest one."""
    # A selected skill first: it takes one command, and the choice is made.
    first = min(filter(None, refusals), key=lambda refusal: refusal.code == "disabled", default=None)
    if first is None:
        return "No skill is active."
    step = f"To enable: {first.remedy}" if first.code == "disabled" else first.reason
    return f"No skill is active. {escape_hidden(step)}"


def obstacle(refusal: Refusal) -> str:
    """Return why a skill that fits is not used, with the command that changes it if there is one."""
    if not refusal.remedy:
        return f"cannot be used: {refusal.reason}"
    return f"is {'not trusted' if refusal.code == 'untrusted' else 'not active'}: {refusal.remedy}"


def show_problems(diagnostics: Iterable[Diagnostic]) -> None:
    """Errors and warnings on stderr, one line each."""
    sys.stdout.flush()
    for found in diagnostics:
        if found.severity.value != "info":
            style = "red" if found.severity.value == "error" else "yellow"
            output.console(stderr=True).print(output.shown(str(found), style), soft_wrap=True)
