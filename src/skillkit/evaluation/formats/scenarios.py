"""YAML suites of other harnesses: scenarios (dotnet), stimuli (vally), single tasks with success criteria."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.evaluation.cases import Case, CaseFile, Check, CheckKind, Routing, Suite
from skillkit.evaluation.formats.assertions import checks_of, judged
from skillkit.evaluation.formats.document import (
    FormatError,
    mapping_of,
    mappings_of,
    number_of,
    text_of,
    texts_of,
)


def read_scenarios(document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    """Read `scenarios` with assertions and a rubric; the skill has the name of the file's folder."""
    about = text_of(document, "skill", "skill_name") or skill or real_path(path).parent.name
    cases = []
    notes: list[str] = []
    for number, scenario in enumerate(mappings_of(document.get("scenarios")), 1):
        setup = mapping_of(scenario.get("setup"))
        if texts_of(setup.get("commands")):
            notes.append(f"scenario {number}: its setup commands are not run")
        activation = scenario.get("expect_activation")
        prompts = _turns(scenario)
        if not prompts:
            notes.append(f"scenario {number} has no prompt")
            continue
        routing = Routing((about,), implied=True)
        if isinstance(activation, bool):
            routing = Routing((about,)) if activation else Routing((), (about,))
        tools = texts_of(scenario.get("expect_tools"))
        cases.append(
            Case(
                text_of(scenario, "id", "name") or str(number),
                prompts,
                text_of(scenario, "name"),
                about,
                routing,
                (
                    *checks_of(scenario.get("assertions")),
                    *([Check(CheckKind.TOOL_CALLS, tools)] if tools else []),
                    *judged(scenario.get("rubric")),
                ),
                files=tuple(_setup_files(setup)),
                seconds=number_of(scenario.get("timeout")),
            )
        )
    return _suite(path, "scenarios", cases, about, notes)


def read_stimuli(document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    """Read `stimuli` with graders; one turn or several."""
    tags = mapping_of(document.get("tags"))
    about = text_of(tags, "skill") or text_of(document, "skill") or skill or real_path(path).parent.name
    defaults = mapping_of(document.get("defaults"))
    runs = number_of(defaults.get("runs"))
    cases = []
    notes: list[str] = []
    for number, stimulus in enumerate(mappings_of(document.get("stimuli")), 1):
        prompts = _turns(stimulus)
        if not prompts:
            notes.append(f"stimulus {number} has no prompt")
            continue
        setup = mapping_of(stimulus.get("environment"))
        if texts_of(setup.get("commands")):
            notes.append(f"stimulus {number}: the commands of its environment are not run")
        checks = checks_of(stimulus.get("graders"))
        cases.append(
            Case(
                text_of(stimulus, "id", "name") or str(number),
                prompts,
                text_of(stimulus, "name"),
                about,
                _routing_of(checks, about),
                checks,
                runs=int(number_of(stimulus.get("runs")) or runs or 1),
                seconds=number_of(stimulus.get("timeout") or defaults.get("timeout")),
            )
        )
    return _suite(path, "stimuli", cases, about, notes)


def read_criteria(document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    """Read one task with `initial_prompt` and `success_criteria`."""
    checks = checks_of(document.get("success_criteria"))
    prompts = tuple(text for text in (text_of(document, "initial_prompt", "prompt"),) if text)
    named = next(
        (check.values[0] for check in checks if check.kind is CheckKind.SKILL_LOADED and check.values), None
    )
    about = text_of(document, "skill", "skill_name") or named or skill
    if not prompts:
        raise FormatError("has no initial_prompt", invalid_path=str(path))
    notes = ["its pre_run commands are not run"] if document.get("pre_run") else []
    identity = text_of(document, "task_id", "id") or path.stem
    case = Case(identity, prompts, skill=about, routing=_routing_of(checks, about), checks=checks)
    return _suite(path, "criteria", [case], about, notes)


def _suite(path: Path, kind: str, cases: list[Case], skill: str | None, notes: list[str]) -> Suite:
    if not cases:
        raise FormatError("has no case with a prompt", invalid_path=str(path))
    return Suite(path, kind, tuple(cases), skill, tuple(notes))


def _turns(item: Mapping[str, object]) -> tuple[str, ...]:
    if prompt := text_of(item, "prompt", "query"):
        return (prompt,)
    turns = item.get("turns")
    if not isinstance(turns, list):
        return ()
    said = (
        each if isinstance(each, str) else text_of(mapping_of(each), "prompt", "content") for each in turns
    )
    return tuple(text for text in said if text)


def _routing_of(checks: tuple[Check, ...], skill: str | None) -> Routing | None:
    """Return the routing of the first request, from checks about loaded skills."""
    wanted = [name for check in checks if check.kind is CheckKind.SKILL_LOADED for name in check.values]
    unwanted = [name for check in checks if check.kind is CheckKind.SKILL_NOT_LOADED for name in check.values]
    if wanted or unwanted:
        return Routing(tuple(wanted), tuple(unwanted))
    return Routing((skill,), implied=True) if skill else None


def _setup_files(setup: Mapping[str, object]) -> Iterator[CaseFile]:
    for each in mappings_of(setup.get("files")):
        if path := text_of(each, "path"):
            content = each.get("content")
            source = text_of(each, "source") or None
            yield CaseFile(path, source, content if isinstance(content, str) else None)
