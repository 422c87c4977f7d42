"""Options that several commands share, and how their examples are shown."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class ReportFormat(str, Enum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    JUNIT = "junit"
    SARIF = "sarif"


Format = Annotated[
    ReportFormat,
    typer.Option(
        "--format", help="text, json (as --json), github (annotations), junit or sarif (code scanning)."
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Answer yes; without a terminal, for full commits only.")
]
Full = Annotated[bool, typer.Option("--full", help="Show full diffs, all values and the instructions.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress and whatever needs no answer.")]
Trusted = Annotated[bool, typer.Option("--trusted", help="Trust everything in the source.")]
Long = Annotated[bool, typer.Option("--long", help="Show full descriptions instead of one line per skill.")]
NoEnable = Annotated[bool, typer.Option("--no-enable", help="Do not make it active.")]

Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--in",
        exists=True,
        file_okay=False,
        help="Also search this folder; repeatable.",
    ),
]
MatchingMode = Annotated[
    str | None,
    typer.Option(help="keyword, lexical, semantic or hybrid; default: SKILL_MATCHING_MODE or lexical."),
]


MaxFiles = Annotated[int, typer.Option(help="Maximum number of files in a skill.")]
MaxBytes = Annotated[int, typer.Option(help="Maximum size of a skill in bytes.")]


def examples(*lines: str) -> str:
    """The examples at the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
