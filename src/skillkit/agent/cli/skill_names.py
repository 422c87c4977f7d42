"""Names of skills as arguments of commands, and their completion in a shell."""

from typing import Annotated

import typer

from skillkit.agent.cli.overview import enabled_skills, find_skill
from skillkit.core.disk import agent_home
from skillkit.core.exceptions import SkillsUseError
from skillkit.install.added_sources import AddedSources
from skillkit.install.registry import InstallRegistry
from skillkit.scripts.catalogue import find_scripts


def complete_installed(incomplete: str) -> list[str]:
    """Names of installed skills, for the shell."""
    try:
        names = sorted(InstallRegistry().load().skills)
    except SkillsUseError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_found(incomplete: str) -> list[str]:
    """Names of all skills that are found, for the shell."""
    names = [skill.canonical_name for skill in enabled_skills().manager.list_skills()]
    return [name for name in names if name.startswith(incomplete)]


def complete_script(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the scripts of the skill that was typed before, for the shell."""
    try:
        _, skill = find_skill(str(ctx.params.get("name")), ctx.params.get("folders"))
    except SkillsUseError:
        return []
    return [script.name for script in find_scripts(skill) if script.name.startswith(incomplete)]


def complete_source(incomplete: str) -> list[str]:
    """Names of the sources that were added, for the shell."""
    names = [source.name for source in AddedSources(agent_home()).load()]
    return [name for name in names if name.startswith(incomplete)]


Installed = Annotated[
    str,
    typer.Argument(help="The name of an installed skill.", autocompletion=complete_installed),
]
SkillName = Annotated[
    str, typer.Argument(help="The name of a skill, or its folder.", autocompletion=complete_found)
]
SkillNames = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...", help="Names of skills, or their folders.", autocompletion=complete_found
    ),
]
ManyInstalled = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="Names of installed skills; all of them when none is given.",
        autocompletion=complete_installed,
    ),
]
SomeInstalled = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...",
        help="Names of installed skills.",
        autocompletion=complete_installed,
    ),
]
