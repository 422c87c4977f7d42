"""Print data to stdout and the rest to stderr, without terminal control sequences."""

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TextIO

from skillkit.core.text import escape_hidden, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDTH_WHEN_PIPED = 80
_COMMANDS = (": agent ", ": export ")
"""Where a command begins that a sentence ends with."""
_LONG_WORD = 20
"""Words of running text that are longer may be broken: addresses, commands."""


@cache
def console(*, stderr: bool = False) -> "Console":
    """Return a console that wraps at 80 columns without a terminal and never parses markup in data."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH_WHEN_PIPED
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def shown(text: object, style: str = "") -> "Text":
    """Return third-party text as one line without control characters."""
    from rich.text import Text

    return Text(escape_hidden(str(text)), style=style)


def summary(text: str, limit: int = 400, *, title: str = "") -> str:
    """Return a description as one truncated line for a table, with the title its name derives from."""
    return shortened(f"(name derived from '{title}') {text}" if title else text, limit)


def say(text: str = "", style: str = "", *, whole: bool = False) -> None:
    """Print a line on stdout; third-party parts must be escaped.

    Prose wraps at the width of the screen; a `whole` line does not, so that paths can be copied, nor does
    a command at the end of one.
    """
    if not whole and _has_terminal(sys.stdout) and any(mark in text for mark in _COMMANDS):
        text, whole = _filled(text, console().width), True
    console().print(text, style=style or None, soft_wrap=whole)


def line(text: "Text") -> None:
    """Print one entry: unwrapped into a pipe, wrapped and indented on a terminal."""
    screen = console()
    fits = not screen.is_terminal or text.cell_len <= screen.width
    for number, part in enumerate([text] if fits else text.wrap(screen, screen.width - 6)):
        screen.print("      " * bool(number), part, sep="", soft_wrap=True)


class _OpenLine:
    """Tracks whether stdout is within a line, which a remark on the same screen must end first."""

    is_open = False


def write_piece(text: str) -> None:
    """Write a piece of a streamed result."""
    sys.stdout.write(text)
    sys.stdout.flush()
    _OpenLine.is_open = not text.endswith("\n")


def end_line() -> None:
    """End the line that a piece has begun."""
    if _OpenLine.is_open:
        _OpenLine.is_open = False
        sys.stdout.write("\n")
    sys.stdout.flush()


def remark(text: str, style: str = "") -> None:
    """Print a hint on stderr, after the output so far."""
    _leave_result()
    _print_stderr(flowing(text), style)


def warn(text: str) -> None:
    """Print a warning, which may contain third-party text."""
    remark(escape_hidden(text), "yellow")


def complain(text: str) -> None:
    """Print an error with hidden characters escaped and its first line bold."""
    _leave_result()
    first, *others = [escape_hidden(line) for line in text.splitlines() or [""]]
    _print_stderr(flowing(f"Error: {first}"), "bold red")
    for line in others:
        _print_stderr(line)


def _leave_result() -> None:
    """Flush stdout; end its line if stderr goes to the same screen."""
    if _OpenLine.is_open and _share_a_place():
        end_line()
    else:
        sys.stdout.flush()


def _share_a_place() -> bool:
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):  # closed, or no file at all
        return False


def _print_stderr(text: str, style: str = "") -> None:
    """Print text with its own line breaks; import rich only for a terminal."""
    if _has_terminal(sys.stderr):
        console(stderr=True).print(text, style=style or None, soft_wrap=True)
    else:
        sys.stderr.write(f"{text}\n")


def _has_terminal(stream: TextIO) -> bool:
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR"))


def flowing(text: str) -> str:
    """Wrap prose for stderr at a terminal, between words and never within a command."""
    if not _has_terminal(sys.stderr):
        return text
    width = console(stderr=True).width
    return "\n".join(_filled(line, width) for line in text.split("\n"))


def _filled(line: str, width: int) -> str:
    """Break a line between words; a command at its end stays whole, to be copied."""
    for mark in _COMMANDS:
        prose, found, rest = line.partition(mark)
        if found:
            lines, command = _filled(f"{prose}:", width), f"{mark[2:]}{rest}"
            fits = len(lines.rpartition("\n")[2]) + len(command) < width
            return f"{lines}{' ' if fits else chr(10)}{command}"
    return textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)


def print_json(data: object) -> None:
    """Print data as JSON; ASCII only, so that no control sequence reaches a terminal."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=True, default=str) + "\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, flexible: str) -> None:
    """Print rows in columns; the column `flexible` takes the rest of the line and wraps.

    On a screen so narrow that words would break, each row is a list of facts instead.
    """
    from rich.table import Table

    cells = [[escape_hidden(str(cell)) for cell in row] for row in rows]
    flexing = list(columns).index(flexible)
    sizes = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    words = [_longest_word(column) for column in zip(columns, *cells, strict=True)]
    space = _width() - 2 * (len(columns) - 1)
    if _is_of_a_person() and sum(words) - max(0, words[flexing] - _LONG_WORD) > space:
        for first, *others in cells:
            _write([first, *(f"  {line}" for line in _fact_lines(columns[1:], others, _width() - 2))])
        return
    others_fit = sum(sizes) - sizes[flexing] + min(20, sizes[flexing]) <= space
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column, size, word in zip(columns, sizes, words, strict=True):
        if column == flexible:
            shown.add_column(column, overflow="fold")
        else:
            shown.add_column(column, overflow="fold", min_width=size if others_fit else word)
    for row in cells:
        shown.add_row(*row)
    _print_lines(shown)


def listing(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, flexible: str, otherwise: str
) -> None:
    """Print a table, or a remark if there are no rows."""
    if rows:
        table(columns, rows, flexible=flexible)
    else:
        remark(otherwise)


def left_out(what: str, items: Iterable[object]) -> None:
    """Print each skipped item with its reason on stderr."""
    for item in items:
        remark(f"{what} {item}", "yellow")


def short_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns, one line each, truncated at the width."""
    cells = [[*columns], *([escape_hidden(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
    width = _width()
    _write([line if len(line) <= width else f"{line[: width - 1]}…" for line in lines], headed=True)


def facts(rows: Sequence[tuple[str, object]]) -> None:
    """Print labelled values; long words such as digests are not broken, to be copied."""
    values = [escape_hidden(str(value)) for _, value in rows]
    _write(_fact_lines([label for label, _ in rows], values, _width()))


def _fact_lines(labels: Sequence[str], values: Sequence[str], width: int) -> list[str]:
    indent = max(map(len, labels)) + 2
    lines = []
    for label, value in zip(labels, values, strict=True):
        parts = _wrap_columns(value, max(8, width - indent)) or [""]
        lines += [f"{'' if place else label:<{indent}}{part}" for place, part in enumerate(parts)]
    return lines


def facts_on_stderr(rows: Sequence[tuple[str, object, str]]) -> None:
    """Print labelled values before a question, indented, each with its style."""
    screen = console(stderr=True)
    indent = max(len(label) for label, *_ in rows) + 4
    for label, value, style in rows:
        space = max(20, screen.width - indent)
        for number, part in enumerate(_wrap_columns(escape_hidden(str(value)), space)):
            row = shown(f"  {'' if number else label:<{indent - 2}}", "dim")
            screen.print(row.append(part, style=style or "not dim"), soft_wrap=True)


def _wrap_columns(text: str, width: int) -> list[str]:
    """Break a text between words by columns of the screen; plain words stay whole, to be copied.

    Not by characters: some are two columns wide, and would push what follows them to the beginning of a
    line, where it could pass for another fact.
    """
    from rich.cells import cell_len

    lines = [""]
    for found in re.finditer(r"(\s*)(\S+)", text):
        space, word = found.groups()
        if cell_len(lines[-1] + space + word) <= width:
            lines[-1] += space + word
            continue
        lines += [word] if word.isascii() else chop(word, width)
    return [line for line in lines if line]


def chop(text: str, width: int) -> list[str]:
    """Cut a text into pieces of at most `width` columns and characters."""
    from rich.cells import cell_len

    pieces, taken = [""], 0
    for character in text:
        columns = max(1, cell_len(character))
        if taken + columns > width:
            pieces.append("")
            taken = 0
        pieces[-1] += character
        taken += columns
    return pieces


def _write(lines: Sequence[str], *, headed: bool = False) -> None:
    if not sys.stdout.isatty():
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        return
    for number, line in enumerate(lines):
        console().print(
            line,
            style="bold" if headed and number == 0 else None,
            no_wrap=True,
            overflow="ignore",
            crop=False,
        )


def _width() -> int:
    """Columns of the terminal, or 80 where there is none."""
    if _is_of_a_person():
        return max(20, shutil.get_terminal_size((WIDTH_WHEN_PIPED, 24)).columns)
    return WIDTH_WHEN_PIPED


def _is_of_a_person() -> bool:
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def _longest_word(cells: Sequence[str]) -> int:
    return max(len(word) for cell in cells for word in cell.split() or [""])


def _print_lines(table: "Table") -> None:
    """Print a table without the blanks that fill its lines; the last column's are beyond the screen."""
    from rich.segment import Segment, Segments

    screen = console()
    lines: list[Segment] = []
    for line in Segment.split_lines(screen.render(table, screen.options.update(width=screen.width + 2))):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            lines += [*line[:-1], Segment(line[-1].text.rstrip(), line[-1].style)]
        lines.append(Segment.line())
    screen.print(Segments(lines), crop=False, end="")
