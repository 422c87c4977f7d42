"""Names of skills as arguments of commands, and their completion in a shell."""

from typing import Annotated

import typer

from skillkit.agent.cli.overview import enabled_skills
from skillkit.core.exceptions import SkillsUseError
from skillkit.install.registry import InstallRegistry


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
