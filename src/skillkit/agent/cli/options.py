"""Options that several commands share, and completion for the names of skills."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Answer yes. Without a terminal it counts for full commits only.")
]
Full = Annotated[
    bool, typer.Option("--full", help="Show everything: whole differences, all values, the instructions.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Do not show what nobody is asked about, nor progress.")
]
Trusted = Annotated[bool, typer.Option("--trusted", help="Trust the source, whatever it holds.")]

Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--in",
        exists=True,
        file_okay=False,
        help="A folder to search besides the usual places; may be given again.",
        show_default=False,
    ),
]
MatchingMode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        help="keyword, lexical, semantic or hybrid; SKILL_MATCHING_MODE or lexical if not given.",
        show_default=False,
    ),
]


MaxFiles = Annotated[int, typer.Option(help="How many files a skill may have.")]
MaxBytes = Annotated[int, typer.Option(help="How many bytes a skill may have.")]
MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024


def complete_installed(incomplete: str) -> list[str]:
    """Names of installed skills, for the shell."""
    from skillkit.core.exceptions import SkillsUseError
    from skillkit.install.registry import InstallRegistry

    try:
        names = sorted(InstallRegistry().load().skills)
    except SkillsUseError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_found(incomplete: str) -> list[str]:
    """Names of all skills that are found, for the shell."""
    from skillkit.agent.cli.overview import enabled_skills

    names = [skill.canonical_name for skill in enabled_skills().manager.list_skills()]
    return [name for name in names if name.startswith(incomplete)]


Installed = Annotated[
    str,
    typer.Argument(
        help="The name of an installed skill.", autocompletion=complete_installed, show_default=False
    ),
]
Found = Annotated[
    str, typer.Argument(help="The name of a skill.", autocompletion=complete_found, show_default=False)
]
ManyInstalled = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="Names of installed skills; all of them when none is given.",
        autocompletion=complete_installed,
        show_default=False,
    ),
]


SomeInstalled = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...",
        help="Names of installed skills.",
        autocompletion=complete_installed,
        show_default=False,
    ),
]


def examples(*lines: str) -> str:
    """The examples at the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
