"""The help of a script: the output of `--help`, or else documentation about its use."""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.path_resolver import open_beneath
from skillkit.core.text import strip_hidden
from skillkit.scripts.catalogue import Script
from skillkit.scripts.payloads import Payload, success, usage_line

FROM_TEXT = "text"
_MAX_READ = 256 << 10
_MAX_TEXT = 8000
_MAX_LINE = 400
_MAX_COMMENT = 60
_MAX_ARGUMENTS = 40
_MAX_MENTIONS = 8
_ARGUMENT_MARKERS = (
    *("add_argument(", "add_parser(", "click.option(", "click.argument(", "typer.Option(", "typer.Argument("),
    *(".option(", ".argument(", "parseArgs(", "argv", "ARGV", "getopts", "$#", "$1", "${1"),
)
"""Literal calls by which common libraries and languages declare arguments."""


@dataclass(frozen=True, slots=True)
class StaticHelp:
    """Documentation of a script in the files of its skill."""

    text: str
    """Empty where nothing was found."""
    usage: str


def with_written_help(name: str, printed: Payload, written: StaticHelp | None) -> Payload:
    """Return the answer to a request for help; without `written` only from the script's output."""
    has_help = printed["success"] and printed["result"]["help_text"]
    if has_help or written is None or not written.text or printed.get("error") == "permission_denied":
        return printed
    reason = "it printed nothing" if printed["success"] else printed["message"]
    message = f"{name} printed no help; this is what its text says. Reason: {reason}"
    result = {"help_text": written.text, "usage": written.usage, "source": FROM_TEXT}
    cause = {"cause": printed["cause"]} if "cause" in printed else {}
    return {**success(result, message, printed["meta"]), **cause}


def written_help_of(skill: SkillMetadata, script: Script) -> StaticHelp | None:
    """Return documentation from the script's source and SKILL.md; None if they cannot be read."""
    try:
        source = _read(skill.base_dir, script.relative_path)
        instructions = _read(skill.base_dir, skill.skill_path.name)
    except (SkillsUseError, OSError):
        return None
    return written_help(script.file, source, instructions)


def written_help(file: str, source: str, instructions: str = "") -> StaticHelp:
    """Return the documentation, argument lines and mentions of the script `file`, bounded."""
    documentation = (_docstring(source) if file.endswith(".py") else "") or _leading_comment(source)
    arguments = list(islice(_lines_with(_ARGUMENT_MARKERS, source), _MAX_ARGUMENTS))
    mentions = list(dict.fromkeys(_lines_with((file.rpartition("/")[2],), instructions)))[:_MAX_MENTIONS]
    parts = [
        documentation,
        _listed("Lines of its source about arguments:", arguments),
        _listed("Lines of SKILL.md:", mentions),
    ]
    text = strip_hidden("\n\n".join(part for part in parts if part))[:_MAX_TEXT]
    usage = usage_line(text) if "usage" in text.lower() else next(iter(mentions), "")
    return StaticHelp(text, strip_hidden(usage)[:_MAX_LINE])


def _docstring(source: str) -> str:
    try:
        return ast.get_docstring(ast.parse(source)) or ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _leading_comment(source: str) -> str:
    """The comment before the first line of code: lines with # or //, or one block /* … */."""
    found: list[str] = []
    in_block = False
    for line in source.splitlines()[:_MAX_COMMENT]:
        bare = line.strip()
        if bare.startswith("/*"):
            in_block = True
        if not in_block and bare and not bare.startswith(("#", "//")):
            break
        if not bare.startswith("#!"):
            found.append(bare.removesuffix("*/").lstrip("#/*").strip())
        if in_block and bare.endswith("*/"):
            break
    return "\n".join(found).strip()


def _lines_with(markers: tuple[str, ...], text: str) -> Iterator[str]:
    for line in text.splitlines():
        if len(line) <= _MAX_LINE and any(marker in line for marker in markers):
            yield " ".join(line.split())


def _listed(title: str, lines: list[str]) -> str:
    return "\n".join((title, *(f"  {line}" for line in lines))) if lines else ""


def _read(folder: Path, path: str) -> str:
    with open_beneath(folder, path) as descriptor:
        return os.pread(descriptor, _MAX_READ, 0).decode("utf-8", "replace")
