"""`agent skill trust`, `enable` and `disable`."""

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Folders, NoEnable, Yes, examples
from skillkit.agent.cli.overview import enabled_skills, find_skill, get_loaded_skill
from skillkit.agent.cli.skill.installing import installer
from skillkit.agent.cli.skill_names import SkillName, SkillNames
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.authority import Level
from skillkit.install.enabled import EnabledSkills, SkillStatus
from skillkit.install.installer import SkillInstaller
from skillkit.install.registry import InstallRegistry
from skillkit.install.selection import VARIABLE, Selection, change_selection

app = Family()


@app.command(
    "trust",
    short_help="Approve a skill as it is now, and enable it.",
    epilog=examples(
        "agent skill trust pdf",
        "agent skill trust ./skills/pdf",
        "agent skill trust pdf --revoke",
        "agent skill trust pdf --yes --digest sha256:…   (in a script)",
    ),
)
def trust(
    name: SkillName,
    *,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke the approval.")] = False,
    digest: Annotated[
        str | None, typer.Option(help="Digest to approve; required without a terminal.")
    ] = None,
    no_enable: NoEnable = False,
    folders: Folders = None,
    yes: Yes = False,
) -> Result:
    """Approve a skill as it is now and enable it. Any change of its bytes revokes the approval."""
    enabled, skill = find_skill(name, folders)
    with installer(yes=yes) as (opened, _):
        if revoke:
            _revoke(opened, enabled, skill)
        else:
            _approve(opened, enabled, skill, digest)
    trust = enabled.authority.trust(skill)
    if trust.trusted and not (revoke or no_enable or skill.source is SourceType.CUSTOM):
        change_selection(InstallRegistry(), lambda chosen: chosen.with_names([skill.name]))
    data = {"name": skill.name, "trusted": trust.trusted, "digest": trust.digest}
    said = f"{escape_hidden(skill.name)} is {'trusted' if trust.trusted else 'not trusted'}"
    inactive = () if revoke or no_enable else (skill,)

    def show() -> None:
        output.say(said)
        _show_inactive(_statuses(inactive, folders))

    return Result(data, show)


def _approve(
    opened: SkillInstaller, enabled: EnabledSkills, skill: SkillMetadata, digest: str | None = None
) -> None:
    if (record := enabled.authority.installed(skill)) is not None:
        opened.trust(record.name, pinned=digest)
    elif (trust := enabled.authority.trust(skill)).trusted:
        output.remark(f"'{escape_hidden(skill.name)}' is trusted already: it {trust.reason}")
    else:
        opened.trust_folder(skill, pinned=digest)


def _revoke(opened: SkillInstaller, enabled: EnabledSkills, skill: SkillMetadata) -> None:
    if (record := enabled.authority.installed(skill)) is not None:
        opened.revoke(record.name)
        return
    trust = enabled.authority.trust(skill)
    if trust.digest is None or not opened.revoke_folder(trust.digest):
        output.remark(f"'{escape_hidden(skill.name)}' was not approved: {trust.reason}")


@app.command(
    "enable",
    short_help="Enable skills, unless AGENT_SKILLS overrides it.",
    epilog=examples("agent skill enable pdf", "agent skill enable pdf csv-report", "agent skill enable all"),
)
def enable(names: SkillNames, folders: Folders = None) -> Result:
    """Make skills active from now on, where AGENT_SKILLS does not say otherwise.

    At a terminal it asks about those that are not trusted yet.
    """
    if len(names) == 1 and names[0].lower() in ("all", "all-untrusted", "none"):
        return _choose(lambda chosen: Selection.parse(names[0]))
    found = [find_skill(name, folders) for name in names]
    skills = [skill for _, skill in found]
    for skill in skills:
        if skill.source is SourceType.CUSTOM:
            raise SkillsUseError(
                f"Conversations do not search the folder of '{escape_hidden(skill.name)}'. "
                f"To use it: {Selection('none').remedy(skill)}"
            )
    with installer() as (opened, asker):
        for enabled, skill in found:
            if asker.interactive and enabled.authority.trust(skill).level is Level.FOUND:
                _approve(opened, enabled, skill)
    return _choose(lambda chosen: chosen.with_names(skill.name for skill in skills), skills)


def _statuses(skills: Sequence[SkillMetadata], folders: Folders = None) -> list[SkillStatus]:
    """Return the states of `skills` after a change; nothing is searched for none."""
    enabled = enabled_skills(folders or ()) if skills else None
    return [enabled.status(skill) for skill in skills] if enabled else []


def _show_inactive(statuses: Iterable[SkillStatus]) -> None:
    """Say what is missing for skills that are not active, or not trusted."""
    for status in statuses:
        if status.refusal is not None:
            output.warn(status.refusal.reason)
        elif not status.trust.trusted:
            output.warn(
                f"'{status.skill.name}' is not trusted ({status.trust.reason}) and gets no variable, host or "
                f"secret until: agent skill trust {status.skill.canonical_name}"
            )


@app.command(
    "disable",
    short_help="Disable skills, unless AGENT_SKILLS overrides it.",
    epilog=examples(
        "agent skill disable pdf", "agent skill disable pdf csv-report", "agent skill disable all"
    ),
)
def disable(names: SkillNames) -> Result:
    """Make skills inactive from now on, where AGENT_SKILLS does not say otherwise."""
    if [name.lower() for name in names] == ["all"]:
        return _choose(lambda chosen: Selection("none"))
    enabled = enabled_skills()
    everything = enabled.manager.list_skills()

    def without_them(chosen: Selection) -> Selection:
        gone = [name for name in names if chosen.mode == "names" and canonical_name(name) in chosen.names]
        found = [get_loaded_skill(enabled, name).name for name in names if name not in gone]
        return chosen.without_names([*gone, *found], everything)

    return _choose(without_them)


def _choose(change: Callable[[Selection], Selection], skills: Sequence[SkillMetadata] = ()) -> Result:
    """Write the selection, and say what is missing for those of `skills` that are still not active."""
    selection = str(change_selection(InstallRegistry(), change))

    def show() -> None:
        statuses, variable = _statuses(skills), os.environ.get(VARIABLE)
        effective = variable is None and all(status.active for status in statuses)
        output.say(f"{'Active from now on' if effective else 'Enabled'}: {escape_hidden(selection)}")
        if variable is not None:
            output.remark(f"{VARIABLE}={escape_hidden(shlex.quote(variable))} overrides this.")
        _show_inactive(statuses)

    return Result({"selection": selection}, show)
