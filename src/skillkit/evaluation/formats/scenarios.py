"""YAML suites of other harnesses: scenarios (dotnet), stimuli (vally), single tasks with success criteria."""

from collections.abc import Mapping
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.evaluation.cases import Case, CheckKind, Suite
from skillkit.evaluation.formats.aliases import FIELDS
from skillkit.evaluation.formats.assertions import checks_of
from skillkit.evaluation.formats.document import FormatError, mapping_of, mappings_of, text_of, texts_of
from skillkit.evaluation.formats.items import case_of

_FORMS = {
    "scenarios": ("scenario", "setup", "its setup commands are not run", {}),
    "stimuli": ("stimulus", "environment", "the commands of its environment are not run", {"runs": 1}),
}
LISTS = tuple(_FORMS)


def read_list(key: str, document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    """Read `scenarios` or `stimuli`; a skill that nothing names has the name of the file's folder."""
    word, setup, not_run, usual = _FORMS[key]
    named = text_of(mapping_of(document.get("tags")), "skill") or text_of(document, *FIELDS["skill"])
    about = named or skill or real_path(path).parent.name
    defaults = {**usual, **mapping_of(document.get("defaults"))}
    cases: list[Case] = []
    notes: list[str] = []
    for number, item in enumerate(mappings_of(document.get(key)), 1):
        if texts_of(mapping_of(item.get(setup)).get("commands")):
            notes.append(f"{word} {number}: {not_run}")
        if case := case_of({**defaults, **item}, number, about, path):
            cases.append(case)
        else:
            notes.append(f"{word} {number} has no prompt")
    if not cases:
        raise FormatError("has no case with a prompt", invalid_path=str(path))
    return Suite(path, key, tuple(cases), about, tuple(notes))


def read_criteria(document: Mapping[str, object], path: Path, skill: str | None) -> Suite:
    """Read one task with `initial_prompt` and `success_criteria`."""
    loaded = (
        check.values[0]
        for check in checks_of(document.get("success_criteria"))
        if check.kind is CheckKind.SKILL_LOADED and check.values
    )
    about = text_of(document, *FIELDS["skill"]) or next(loaded, None) or skill
    case = case_of(document, path.stem, about, path)
    if case is None:
        raise FormatError("has no initial_prompt", invalid_path=str(path))
    notes = ("its pre_run commands are not run",) if document.get("pre_run") else ()
    return Suite(path, "criteria", (case,), about, notes)
