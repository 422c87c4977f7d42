"""`agent man`: the manual page, from the texts of --help."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from skillkit._version import __version__
from skillkit.agent.cli.families import Family, walk
from skillkit.agent.cli.options import examples

app = Family()

EXIT_CODES = (
    ("0", "Done."),
    ("1", "An error."),
    ("2", "Usage error, or an ambiguous source."),
    ("3", "Drift found, or something is outdated."),
    ("4", "Refused: no consent, or denied by a policy."),
    ("5", "Partly done."),
)
ENVIRONMENT = (
    ("AGENT_HOME", "Home folder of agent; default: ~/.agent."),
    ("AGENT_SKILLS", "Active skills: comma-separated names, all, all-untrusted or none."),
    ("NO_COLOR", "If set, disable colours."),
    ("TERM", "If dumb, disable redrawing and colours."),
)


@app.command(
    "man",
    short_help="Print the manual page.",
    epilog=examples("agent man | man -l -", "agent man > ~/.local/share/man/man1/agent.1"),
)
def man(context: typer.Context) -> None:
    """Print the manual page of this program, in the format of man."""
    typer.echo("\n".join(manual_page(context.find_root().command)))


def manual_page(root: Any) -> Iterator[str]:
    """Yield the lines of the page: every command with its help, options and examples."""
    yield f'.TH AGENT 1 "" "skillkit {__version__}"'
    yield from (".SH NAME", r"agent \- an agent with skills", ".SH COMMANDS")
    for path, command in walk(root):
        yield from _command(path, command)
    for title, entries in (("EXIT STATUS", EXIT_CODES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        for term, text in entries:
            yield from _entry(term, text)


def _command(path: tuple[str, ...], command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=" ".join(path))
    yield f".SS {_plain(' '.join([*path, *command.collect_usage_pieces(context)]))}"
    for paragraph in re.split(r"\n\s*\n", command.help or ""):
        yield from (_plain(" ".join(paragraph.split())), ".PP")
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) is not None:
            yield from _entry(*record)
    if command.epilog:
        yield from (".PP", ".nf", *map(_plain, command.epilog.removeprefix("\b\n").splitlines()), ".fi")


def _entry(term: str, text: str) -> Iterator[str]:
    yield from (".TP", f".B {_plain(term)}", _plain(text))


def _plain(text: str) -> str:
    """Return text in ASCII with roff requests escaped."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    escaped = "".join(each if each.isascii() else rf"\[u{ord(each):04X}]" for each in escaped)
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
