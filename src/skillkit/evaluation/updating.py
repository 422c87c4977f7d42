"""Update a file of script cases to the scripts' current results."""

import json
from collections.abc import Mapping
from pathlib import Path

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import parse_json
from skillkit.evaluation.formats.script_items import identity_of, script_call
from skillkit.evaluation.script_runs import ScriptObservation, differences, file_differences

LONGEST_TEXT = 500
_EXPECTATIONS = ("exit_code", "json", "schema", "stdout", "produces")


def updated_document(path: Path, observed: Mapping[str, ScriptObservation]) -> str | None:
    """Return the text of a file with the observations as expectations; None if unchanged."""
    before = path.read_text(encoding="utf-8")
    document = parse_json(before)
    items = document if isinstance(document, list) else document.get("scripts") or document.get("cases")
    if not isinstance(items, list):
        raise ConfigurationError(f"{path} has no list of script cases that could be updated")
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict) or "script" not in item:
            continue
        if (identity := identity_of(item, number)) in observed:
            _write(item, observed[identity])
    after = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return after if parse_json(before) != document else None


def _write(item: dict[str, object], seen: ScriptObservation) -> None:
    """Update outdated expectations in the form their author used; an item without any gets all of them."""
    expected = item.get("expect")
    target = expected if isinstance(expected, dict) else item
    call = script_call(item)
    said = [key for key in _EXPECTATIONS if key in target]
    if call is None or (said and not any(differences(call, seen))):
        return
    answers_now = target.get("exit_code", 0) != 0 and seen.exit_code == 0
    target["exit_code"] = seen.exit_code
    if not said or answers_now:
        _write_output(target, seen)
        _write_files(target, dict.fromkeys(seen.files), seen)
        return
    if seen.exit_code != 0:
        target.pop("json", None)
        target.pop("stdout", None)
    elif ("json" in target and seen.json is None) or any(text not in seen.stdout for text in call.stdout):
        _write_output(target, seen)
    elif "json" in target:
        target["json"] = _narrowed(target["json"], seen.json)
    if "produces" in target:
        _write_files(target, call.produced, seen)


def _write_output(target: dict[str, object], seen: ScriptObservation) -> None:
    for key in ("json", "stdout"):
        target.pop(key, None)
    if seen.exit_code == 0 and seen.json is not None:
        target["json"] = seen.json
    elif seen.exit_code == 0 and seen.stdout.strip():
        target["stdout"] = [line for line in seen.stdout.splitlines() if line.strip()][:5]


def _write_files(target: dict[str, object], wanted: Mapping[str, object], seen: ScriptObservation) -> None:
    kept: dict[str, object] = {}
    for name, expected in wanted.items():
        if name not in seen.files:
            continue
        text = seen.files[name]
        if expected is not None and not any(file_differences(name, expected, seen)):
            kept[name] = expected
        else:
            kept[name] = text if len(text) <= LONGEST_TEXT else None
    target.pop("produces", None)
    if kept:
        target["produces"] = kept


def _narrowed(expected: object, seen: object) -> object:
    """Return the observed values of the expected fields; other fields remain unchecked."""
    if not isinstance(expected, dict) or not isinstance(seen, dict):
        return seen
    return {name: _narrowed(value, seen[name]) for name, value in expected.items() if name in seen} or seen
