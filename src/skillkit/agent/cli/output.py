"""What the program shows: data on stdout, the rest on stderr, nothing that acts on a terminal."""

import json
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from skillkit.core.text import escape_hidden, one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH_WHEN_PIPED = 80


@cache
def console(*, stderr: bool = False) -> "Console":
    """A console that wraps at 80 columns when it is no terminal and never reads markup in data."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH_WHEN_PIPED
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def shown(text: object, style: str = "") -> "Text":
    """Foreign text as one line that cannot do anything but be read."""
    from rich.text import Text

    return Text(escape_hidden(str(text)), style=style)


def summary(text: str, limit: int = 400) -> str:
    """A description for a table: one line, nothing hidden, not endless."""
    line = one_line(text)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def say(text: str = "", style: str = "") -> None:
    """A line of our own on stdout; foreign parts of it must have been escaped."""
    console().print(text, style=style or None)


def remark(text: str, style: str = "") -> None:
    """A line on stderr that is not the result: a hint, a warning, progress."""
    console(stderr=True).print(text, style=style or None)


def complain(text: str) -> None:
    """An error, in the user's words and with nothing hidden."""
    console(stderr=True).print(f"Error: {escape_hidden(text.replace(chr(10), ' '))}", style="bold red")


def print_json(data: object) -> None:
    """Data for programs; ASCII only, so that nothing in it reaches a terminal raw."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=True, default=str) + "\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, flexible: str) -> None:
    """Rows in columns; only the column `flexible` wraps, the others keep their words whole."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        grid.add_column(column, overflow="fold", no_wrap=False, ratio=1 if column == flexible else None)
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else shown(cell) for cell in row))
    console().print(grid)
