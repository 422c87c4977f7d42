"""The scripts tier: scripts that answer differently than when their cases were written."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import table
from skillkit.agent.authoring.templates import create_skill
from skillkit.evaluation import CaseOutcome, SkillTester, find_targets
from skillkit.evaluation.script_runs import sandboxed_scripts
from skillkit.evaluation.updating import updated_document, write_document

NAMES = ("Ada", "Grace", "Linus", "Barbara", "Edsger")


def _other_key(text: str) -> str:
    return text.replace('"greeting"', '"salutation"')


def _other_text(text: str) -> str:
    return text.replace("Hello,", "Goodbye,")


def _other_exit_code(text: str) -> str:
    return re.sub(r"\n    main\(\)\n", "\n    main()\n    raise SystemExit(3)\n", text)


def _text_instead_of_json(text: str) -> str:
    return text.replace("json.dumps({", "str({")


CHANGES: dict[str, Callable[[str], str]] = {
    "another key": _other_key,
    "another text": _other_text,
    "another exit code": _other_exit_code,
    "text instead of JSON": _text_instead_of_json,
}


def measure(work: Path) -> None:
    """Write cases from what a script does, change the script, and count what is found."""
    rows = []
    for change, harm in CHANGES.items():
        found = alarms = 0
        for name in NAMES:
            folder, _ = create_skill(
                f"greet-{name.lower()}", work / change.replace(" ", "-"), template="scripts"
            )
            _write_cases(folder, name)
            alarms += _failures(folder)
            script = folder / "scripts" / "greet.py"
            script.write_text(harm(script.read_text(encoding="utf-8")), encoding="utf-8")
            found += bool(_failures(folder))
        rows.append((change, str(len(NAMES)), str(found), f"{alarms} of {len(NAMES)}"))
    table("Changed scripts", ("kind", "planted", "found", "alarms unharmed"), rows)


def _tester(folder: Path) -> SkillTester:
    targets = find_targets([folder])
    tester = SkillTester(targets.skills, targets.suites)
    tester.scripts = sandboxed_scripts(targets.skills)
    return tester


def _write_cases(folder: Path, name: str) -> None:
    """A case without expectations, which are then filled in from what is seen."""
    shutil.rmtree(folder / "evals")
    (folder / "evals").mkdir()
    path = folder / "evals" / "scripts.json"
    cases = {"scripts": [{"id": "greets", "script": "greet", "args": [name, "--json"]}]}
    path.write_text(json.dumps(cases), encoding="utf-8")
    _, seen = _tester(folder).run_scripts()
    text = updated_document(path, seen[path])
    if text is not None:
        write_document(path, text)


def _failures(folder: Path) -> int:
    report, _ = _tester(folder).run_scripts()
    return sum(result.outcome is CaseOutcome.FAILED for result in report.results)
