"""Deciding what is used: trust, enable, disable."""

import os
from collections.abc import Callable
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import commands
from skillkit.agent.cli.options import Json, Yes, examples
from skillkit.agent.cli.overview import enabled_skills, get_loaded_skill
from skillkit.agent.cli.skill.installing import installer
from skillkit.agent.cli.skill_names import SkillName
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.authority import Level
from skillkit.install.registry import InstallRegistry
from skillkit.install.selection import VARIABLE, Selection, change_selection

app = commands()


@app.command(
    "trust",
    epilog=examples(
        "agent skill trust pdf",
        "agent skill trust pdf --revoke",
        "agent skill trust pdf --yes --digest sha256:…   (in a script)",
    ),
)
def trust(
    name: SkillName,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take the approval back.")] = False,
    digest: Annotated[
        str | None, typer.Option(help="The digest you approve; needed where nobody can be asked.")
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Approve a skill as it is now, bound to its exact bytes. Any change revokes it."""
    enabled = enabled_skills()
    skill = get_loaded_skill(enabled, name)
    record = enabled.authority.installed(skill)
    with installer(yes=yes) as (opened, _):
        if revoke and record is not None:
            opened.revoke(record.name)
        elif revoke:
            standing = enabled.authority.standing(skill)
            if standing.digest is None or not opened.revoke_folder(standing.digest):
                output.remark(f"'{escape_hidden(skill.name)}' was not approved: {standing.reason}")
        elif record is not None:
            opened.trust(record.name, pinned=digest)
        elif (standing := enabled.authority.standing(skill)).trusted:
            output.remark(f"'{escape_hidden(skill.name)}' is trusted already: it {standing.reason}")
        else:
            opened.trust_folder(skill, pinned=digest)
    standing = enabled_skills().authority.standing(skill)
    if json:
        output.print_json({"name": skill.name, "trusted": standing.trusted, "digest": standing.digest})
    else:
        output.say(f"{escape_hidden(skill.name)} is {'trusted' if standing.trusted else 'not trusted'}")


@app.command(
    "enable",
    short_help="Make a skill active from now on, unless AGENT_SKILLS decides.",
    epilog=examples("agent skill enable pdf", "agent skill enable all"),
)
def enable(name: SkillName, json: Json = False) -> None:
    """Make a skill active from now on, where AGENT_SKILLS does not say otherwise."""
    if name.lower() in ("all", "all-untrusted", "none"):
        _choose(lambda chosen: Selection.parse(name), json)
        return
    enabled = enabled_skills()
    skill = get_loaded_skill(enabled, name)

    _choose(lambda chosen: chosen.with_skill(skill), json)
    standing = enabled.authority.standing(skill)
    if not standing.trusted:
        effect = "gets no variable, host or secret" if standing.level is Level.OFFERED else "stays inactive"
        output.remark(
            f"It is not trusted ({standing.reason}) and {effect} until: "
            f"agent skill trust {escape_hidden(skill.canonical_name)}",
            "yellow",
        )


@app.command(
    "disable",
    short_help="Make a skill inactive from now on, unless AGENT_SKILLS decides.",
    epilog=examples("agent skill disable pdf", "agent skill disable all"),
)
def disable(name: SkillName, json: Json = False) -> None:
    """Make a skill inactive from now on, where AGENT_SKILLS does not say otherwise."""
    if name.lower() == "all":
        _choose(lambda chosen: Selection("none"), json)
        return
    enabled = enabled_skills()
    everything = enabled.manager.list_skills()

    def without_it(chosen: Selection) -> Selection:
        if chosen.mode != "names" or canonical_name(name) not in chosen.names:
            get_loaded_skill(enabled, name)  # one that was enabled and has gone can be disabled
        return chosen.without_skill(name, everything)

    _choose(without_it, json)


def _choose(change: Callable[["Selection"], "Selection"], json: bool) -> None:
    selection = change_selection(InstallRegistry(), change)
    if json:
        output.print_json({"selection": str(selection)})
    else:
        output.say(f"Active from now on: {escape_hidden(str(selection))}")
    if VARIABLE in os.environ:
        output.remark(f"{VARIABLE} is set and decides instead: {escape_hidden(os.environ[VARIABLE])}")
