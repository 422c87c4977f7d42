"""Writing into a file of script cases what the scripts do now."""

import json
from collections.abc import Mapping
from pathlib import Path

from skillkit.core.disk import replace_file
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import parse_json
from skillkit.evaluation.script_runs import Observed

LONGEST_TEXT = 500


def updated_document(path: Path, observed: Mapping[str, Observed]) -> str | None:
    """The text of a file with what was seen as what is expected; None where nothing would change."""
    before = path.read_text(encoding="utf-8")
    document = parse_json(before)
    items = document if isinstance(document, list) else document.get("scripts") or document.get("cases")
    if not isinstance(items, list):
        raise ConfigurationError(f"{path} has no list of script cases that could be updated")
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict) or "script" not in item:
            continue
        identity = next(
            (str(item[key]) for key in ("id", "case_id", "test_id", "name") if item.get(key)), str(number)
        )
        if identity in observed:
            _write(item, observed[identity])
    after = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return after if parse_json(before) != document else None


def write_document(path: Path, text: str) -> None:
    """Replace the file as a whole."""
    replace_file(path, text.encode("utf-8"))


def _write(item: dict[str, object], seen: Observed) -> None:
    expected = item["expect"] if isinstance(item.get("expect"), dict) else item
    target = expected if isinstance(expected, dict) else item
    target["exit_code"] = seen.exit_code
    for key in ("json", "stdout", "produces"):
        target.pop(key, None)
    if seen.exit_code == 0:
        if seen.json is not None:
            target["json"] = seen.json
        elif seen.stdout.strip():
            target["stdout"] = [line for line in seen.stdout.splitlines() if line.strip()][:5]
    if seen.files:
        target["produces"] = {
            name: text if len(text) <= LONGEST_TEXT else None for name, text in seen.files.items()
        }
