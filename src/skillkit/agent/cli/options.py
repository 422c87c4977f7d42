"""Options that several commands share, and how their examples are shown."""

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
Long = Annotated[bool, typer.Option("--long", help="Whole descriptions instead of one line for each skill.")]
NoEnable = Annotated[bool, typer.Option("--no-enable", help="Do not make it active.")]

Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--in",
        exists=True,
        file_okay=False,
        help="A folder to search besides the usual places; may be given again.",
    ),
]
MatchingMode = Annotated[
    str | None,
    typer.Option(help="keyword, lexical, semantic or hybrid; SKILL_MATCHING_MODE or lexical if not given."),
]


MaxFiles = Annotated[int, typer.Option(help="How many files a skill may have.")]
MaxBytes = Annotated[int, typer.Option(help="How many bytes a skill may have.")]


def examples(*lines: str) -> str:
    """The examples at the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
