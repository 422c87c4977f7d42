"""Waza: `eval.yaml` with its tasks, a single task, and `trigger_tests.yaml`."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.evaluation.cases import Case, Routing, Suite
from skillkit.evaluation.formats.assertions import checks_of
from skillkit.evaluation.formats.document import (
    FormatError,
    mapping_of,
    mappings_of,
    number_of,
    read_document,
    text_of,
    texts_of,
)
from skillkit.evaluation.formats.items import Should, case_of

MOST_TASKS = 1000
_MOST_LOOKED_AT = 20_000
_NEGATIVE = frozenset({"anti-trigger", "negative-trigger", "should-not-trigger"})


def is_suite(document: Mapping[str, object]) -> bool:
    return (
        "tasks" in document
        and "summary" not in document
        and ("config" in document or "metrics" in document or "graders" in document)
    )


def is_trigger_file(document: Mapping[str, object]) -> bool:
    return "should_trigger_prompts" in document or "should_not_trigger_prompts" in document


def read_suite(document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    """Read `eval.yaml` and the tasks beside it; its graders apply to every task."""
    about = text_of(document, "skill") or skill
    config = mapping_of(document.get("config"))
    graders = checks_of(document.get("graders"))
    runs = number_of(config.get("trials_per_task"))
    seconds = number_of(config.get("timeout_seconds"))
    cases: list[Case] = []
    parts: list[Path] = []
    notes: list[str] = []
    for file in _task_files(document, path, notes):
        try:
            task = mapping_of(read_document(file))
        except FormatError as error:
            notes.append(f"{file.name} {error}")
            continue
        parts.append(file)
        case = _task(task, about, file)
        if case is None or task.get("enabled") is False:
            notes.append(f"{file.name} is {'disabled' if case else 'no task'}")
            continue
        cases.append(
            replace(
                case,
                checks=(*case.checks, *graders),
                runs=int(runs) if runs else None,
                seconds=case.seconds or seconds,
            )
        )
    cases += [case for task in mappings_of(document.get("tasks")) if (case := _task(task, about, path))]
    triggers = path.parent / "trigger_tests.yaml"
    if triggers.is_file() and triggers != path:
        parts.append(triggers)
        cases.extend(read_triggers(mapping_of(read_document(triggers)), triggers, about).cases)
    return Suite(path, "waza", tuple(cases), about, tuple(notes), tuple(parts))


def read_task(document: Mapping[str, object], path: Path, skill: str | None) -> Suite | None:
    """Read a file that is one task; None if it is not."""
    case = _task(document, skill, path)
    return Suite(path, "waza-task", (case,), case.skill) if case else None


def _task(task: Mapping[str, object], skill: str | None, path: Path) -> Case | None:
    if not text_of(mapping_of(task.get("inputs")), "prompt"):
        return None
    about = text_of(task, "skill") or skill
    should: Should = None
    if isinstance(verdict := mapping_of(task.get("expected")).get("should_trigger"), bool):
        should = "yes" if verdict else "no"
    elif about and not _NEGATIVE.isdisjoint(texts_of(task.get("tags"))):
        should = "no"
    return case_of(task, "task", about, path, should)


def read_triggers(document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    """Read `trigger_tests.yaml`: requests by expected verdict."""
    about = text_of(document, "skill") or skill
    name = about or ""
    cases = [
        Case(f"{label}-{number}", (text,), skill=about, routing=routing)
        for label, key, routing in (
            ("should", "should_trigger_prompts", Routing((name,))),
            ("should-not", "should_not_trigger_prompts", Routing((), (name,))),
        )
        for number, each in enumerate(_listed(document.get(key)), 1)
        if (text := each if isinstance(each, str) else text_of(mapping_of(each), "prompt", "query"))
    ]
    if not cases:
        raise FormatError("has no prompts", invalid_path=str(path))
    return Suite(path, "waza-triggers", tuple(cases), about)


def _task_files(document: Mapping[str, object], path: Path, notes: list[str]) -> list[Path]:
    folder = real_path(path.parent)
    found: dict[Path, None] = {}
    for pattern in texts_of(document.get("tasks")):
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            notes.append(f"tasks '{pattern}' lie outside of the folder and are not read")
            continue
        matched = _matching(folder, pattern)
        if not matched:
            notes.append(f"no file matches tasks '{pattern}'")
        for file in matched[:MOST_TASKS]:
            if real_path(file).is_relative_to(folder):
                found[file] = None
    return list(found)


def _matching(folder: Path, pattern: str) -> list[Path]:
    """Return the files that match a third-party pattern; none for a pattern that is invalid or too slow."""
    if pattern.count("**") > 1:
        return []
    try:
        return sorted(file for file in islice(folder.glob(pattern), _MOST_LOOKED_AT) if file.is_file())
    except (ValueError, NotImplementedError, OSError, RecursionError):
        return []


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
