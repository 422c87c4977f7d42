"""Static checks of scripts: whether they compile, and the options that a text passes to them."""

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from skillkit.core.process import run
from skillkit.evaluation.report import Problem
from skillkit.evaluation.static.markdown import Document
from skillkit.scripts.catalogue import Script
from skillkit.scripts.inline_metadata import InlineMetadataError, parse_inline_metadata
from skillkit.scripts.interpreters import NODE, PYTHON, asked_for

LARGEST = 2 << 20
_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")


def source_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= LARGEST else ""


def compile_problems(folder: Path, path: Path) -> Iterator[Problem]:
    """Yield the compiler's error for one file; nothing is executed."""
    shown = path.relative_to(folder).as_posix()
    source = source_of(path)
    interpreter, _ = asked_for(path.name, source.encode())
    if interpreter == PYTHON:
        try:
            ast.parse(source, shown)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = error.lineno if isinstance(error, SyntaxError) else None
            text = error.msg if isinstance(error, SyntaxError) else str(error) or "nested too deeply"
            yield Problem(f"does not compile: {text}", shown, line)
        try:
            parse_inline_metadata(source)
        except InlineMetadataError as error:
            yield Problem(str(error), shown)
        return
    checker = _CHECKERS.get(interpreter)
    program = shutil.which(checker[0]) if checker else None
    if checker is None or program is None:
        return
    command, environment = [program, *checker[1:], str(path)], {"PATH": "/usr/bin:/bin"}
    try:
        done = run(command, environment=environment, cwd=folder, timeout=20, memory=None)
    except OSError:
        return
    if done.code and not done.stopped:
        said = done.complaint.strip().splitlines()
        line = next(
            (int(number) for text in said for number in re.findall(r"(?:line |:)(\d{1,9})", text)[:1]), None
        )
        reason = next((text for text in said if "rror" in text), said[0] if said else "unknown")
        yield Problem(f"does not compile: {reason.replace(str(path), shown)[:200]}", shown, line)


_CHECKERS = {
    "sh": ("bash", "-n"),
    "bash": ("bash", "-n"),
    NODE: ("node", "--check"),
}
"""Programs that read a script without running it."""


def class_problems(folder: Path, path: Path, name: str) -> Iterator[Problem]:
    """Yield why a module of a toolset does not have its class."""
    if problems := list(compile_problems(folder, path)):
        yield from problems
    elif name not in {
        node.name for node in ast.parse(source_of(path)).body if isinstance(node, ast.ClassDef)
    }:
        shown = path.relative_to(folder).as_posix()
        yield Problem(f"has no class {name}, which the header names", shown)


def given_options(script: Script, document: Document) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the options that a text passes to a script: line, first word unless an option, options."""
    for number, command in _commands(document, script):
        if options := _OPTION.findall(command):
            first = command.split()[0]
            yield number, "" if first.startswith("-") else first, options


def unknown_option(option: str, help_text: str) -> str | None:
    """Return the problem of an option that the help text does not contain, not even as a prefix."""
    known = set(_OPTION.findall(help_text))
    if any(full.startswith(option) for full in known):  # argparse accepts prefixes
        return None
    return f"{option}, which its --help does not have"


def _commands(document: Document, script: Script) -> Iterator[tuple[int, str]]:
    """Yield the text after the name of the script in commands, including continuation lines."""
    called = re.compile(rf"(?<![\w.-]){re.escape(script.file)}(?![\w.-])|^{re.escape(script.name)}(?=\s+\S)")
    lines = [*document.lines]
    for place, line in enumerate(lines):
        if script.name not in line.text:
            continue
        text, following = line.text, place + 1
        while text.rstrip().endswith("\\") and following < len(lines) and lines[following].fenced:
            text = f"{text.rstrip()[:-1]} {lines[following].text}"
            following += 1
        spans = [text] if line.fenced else [span for _, span in Document((line,), None).code_spans()]
        for span in spans:
            if found := called.search(span.strip()):
                after = span.strip()[found.end() :]
                yield line.number, re.split(r"\s(?:\||&&|;|#)\s|\s\|\|\s", after)[0]
