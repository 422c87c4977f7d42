"""Waza: `eval.yaml` with its tasks, a single task, and `trigger_tests.yaml`."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.evaluation.cases import Case, CaseFile, Check, CheckKind, Routing, Suite
from skillkit.evaluation.formats.assertions import checks_of, expected_checks, waza_file_grader
from skillkit.evaluation.formats.document import (
    FormatError,
    mapping_of,
    mappings_of,
    number_of,
    read_document,
    text_of,
    texts_of,
)

MOST_TASKS = 1000
_MOST_LOOKED_AT = 20_000


def is_suite(document: Mapping[str, object]) -> bool:
    return (
        "tasks" in document
        and "summary" not in document
        and ("config" in document or "metrics" in document or "graders" in document)
    )


def is_task(document: Mapping[str, object]) -> bool:
    return bool(text_of(mapping_of(document.get("inputs")), "prompt"))


def is_trigger_file(document: Mapping[str, object]) -> bool:
    return "should_trigger_prompts" in document or "should_not_trigger_prompts" in document


def read_suite(document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    """Read `eval.yaml` and the tasks beside it; its graders apply to every task."""
    about = text_of(document, "skill") or skill
    graders = _graders(document.get("graders"))
    config = mapping_of(document.get("config"))
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
        if task.get("enabled") is False or not is_task(task):
            notes.append(f"{file.name} is {'disabled' if is_task(task) else 'no task'}")
            continue
        case = task_case(task, about)
        cases.append(
            replace(
                case,
                checks=(*case.checks, *graders),
                runs=int(runs) if runs else None,
                seconds=case.seconds or seconds,
            )
        )
    for task in mappings_of(document.get("tasks")):
        if is_task(task):
            cases.append(task_case(task, about))
    triggers = path.parent / "trigger_tests.yaml"
    if triggers.is_file() and triggers != path:
        parts.append(triggers)
        cases.extend(read_triggers(mapping_of(read_document(triggers)), triggers, about).cases)
    return Suite(path, "waza", tuple(cases), about, tuple(notes), tuple(parts))


def read_task(document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    case = task_case(document, skill)
    return Suite(path, "waza-task", (case,), case.skill)


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


def task_case(task: Mapping[str, object], skill: str | None) -> Case:
    """Read one task: its prompt, files and expectations."""
    inputs = mapping_of(task.get("inputs"))
    expected = mapping_of(task.get("expected"))
    about = text_of(task, "skill") or skill
    checks = (*expected_checks(expected), *_graders(task.get("graders")))
    should = expected.get("should_trigger")
    name = about or ""
    routing = None
    if isinstance(should, bool):
        routing = Routing((name,)) if should else Routing((), (name,))
    elif about:
        negative = {"anti-trigger", "negative-trigger", "should-not-trigger"} & set(
            texts_of(task.get("tags"))
        )
        routing = Routing((), (about,)) if negative else Routing((about,), implied=True)
    files = tuple(
        CaseFile(path, None if content is not None else path, content)
        for each in mappings_of(inputs.get("files"))
        if (path := text_of(each, "path", "name") or "input.txt")
        for content in [next(iter(texts_of(each.get("content"))), None)]
    )
    return Case(
        text_of(task, "id") or text_of(task, "name") or "task",
        (text_of(inputs, "prompt"),),
        text_of(task, "name"),
        about,
        routing,
        checks,
        files=files,
        seconds=number_of(task.get("timeout_seconds")),
    )


def _graders(value: object) -> tuple[Check, ...]:
    found: list[Check] = []
    for grader in mappings_of(value):
        kind = text_of(grader, "type")
        config = mapping_of(grader.get("config"))
        if kind == "file":
            found.extend(waza_file_grader(grader))
        elif kind == "prompt":
            found.append(
                Check(CheckKind.STATEMENT, text=text_of(config, "prompt") or text_of(grader, "rubric"))
            )
        else:
            found.extend(checks_of([grader]))
    return tuple(found)


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
