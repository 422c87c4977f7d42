"""Data files of a skill: JSON, TOML and YAML that cannot be parsed."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from skillkit.core.foreign_json import parse_json
from skillkit.evaluation.report import Problem

LARGEST = 4 << 20
_MAX_DEPTH = 100
_YAML: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEMPLATE_MARKS = ("{{", "{%", "<%", "${", "$(", "[[", "<YOUR", "__")
_COMMENTED = ("tsconfig", "jsconfig", "devcontainer", ".eslintrc", ".vscode/")
"""Files that may contain comments, whatever their suffix."""


def broken_data(folder: Path, path: Path) -> Iterator[Problem]:
    """Yield the parser's error for a file; templates are skipped."""
    suffix = path.suffix.lower()
    if suffix not in (".json", ".toml", ".yaml", ".yml") or path.stat().st_size > LARGEST:
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
