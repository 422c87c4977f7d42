"""Problems of scripts and data files: what no compiler or parser reads, and options that do not exist."""

import ast
import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from skillkit.core.foreign_json import parse_json
from skillkit.core.process import run
from skillkit.evaluation.report import Problem
from skillkit.evaluation.static.markdown import Document
from skillkit.scripts.catalogue import Script
from skillkit.scripts.inline_metadata import InlineMetadataError, parse_inline_metadata
from skillkit.scripts.interpreters import NODE, PYTHON, asked_for

_LARGEST_SCRIPT = 2 << 20
_LARGEST_DATA = 4 << 20
_MAX_DEPTH = 100
_YAML: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEMPLATE_MARKS = ("{{", "{%", "<%", "${", "$(", "[[", "<YOUR", "__")
_COMMENTED = ("tsconfig", "jsconfig", "devcontainer", ".eslintrc", ".vscode/")
"""Files that may contain comments, whatever their suffix."""
_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")


def source_of(path: Path) -> str:
    return (
        path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= _LARGEST_SCRIPT else ""
    )


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
        spans = [text] if line.fenced else line.code_spans()
        for span in spans:
            if found := called.search(span.strip()):
                after = span.strip()[found.end() :]
                yield line.number, re.split(r"\s(?:\||&&|;|#)\s|\s\|\|\s", after)[0]


def broken_data(folder: Path, path: Path) -> Iterator[Problem]:
    """Yield the parser's error for a file; templates are skipped."""
    suffix = path.suffix.lower()
    if suffix not in (".json", ".toml", ".yaml", ".yml") or path.stat().st_size > _LARGEST_DATA:
        return
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if any(mark in text for mark in _TEMPLATE_MARKS) or any(name in path.as_posix() for name in _COMMENTED):
        return
    shown = path.relative_to(folder).as_posix()
    try:
        if suffix == ".json":
            if not any(line.lstrip().startswith(("//", "/*", "#")) for line in text.splitlines()):
                parse_json(text)
        elif suffix == ".toml":
            tomllib.loads(text)
        else:
            _read_yaml(text)
    except json.JSONDecodeError as error:
        yield Problem(f"is not valid JSON: {error.msg}", shown, error.lineno)
    except tomllib.TOMLDecodeError as error:
        yield Problem(f"is not valid TOML: {error}", shown)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        yield Problem(f"is not valid YAML: {reason}", shown, mark.line + 1 if mark else None)
    except (RecursionError, ValueError) as error:  # a number of 5,000 digits is valid JSON and TOML
        yield Problem(f"cannot be read: {str(error)[:120]}", shown)


def _read_yaml(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, _YAML):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:  # the time per token grows with the depth
            raise ValueError("nested too deeply")
