"""Run the core tests of skillkit 0.4.0, unmodified, against this package and print how many pass.

    python3 dev.py upstream FOLDER      a checkout of github.com/maxvaega/skillkit at the tag v0.4.0

Nothing is written to the folder. The exit code is 0 when at least 235 tests pass and docs/migration.md names
each of the others, with the decision behind it.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

AT_LEAST = 235
FILES = (
    "discovery discovery_plugin parser parser_plugin models manager manager_plugin path_resolver "
    "file_references_integration processors async_discovery async_invocation edge_cases installation "
    "performance"
).split()
MIGRATION = Path(__file__).parents[1] / "docs" / "migration.md"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    results = run(Path(arguments[0]))
    decided = MIGRATION.read_text(encoding="utf-8")
    for name in FILES:
        counts = Counter(outcome for (file, _), outcome in results.items() if file == name)
        print(
            f"{name:30} {counts['passed']:4} passed {counts['failed']:4} failed {counts['skipped']:4} skipped"
        )
    failed = [test for (_, test), outcome in results.items() if outcome == "failed"]
    for test in failed:
        print(f"{test}: {'decided' if f'`{test}`' in decided else 'NOT IN docs/migration.md'}")
    passed = sum(outcome == "passed" for outcome in results.values())
    print(f"{passed} of {passed + len(failed)} passed")
    return int(passed < AT_LEAST or any(f"`{test}`" not in decided for test in failed))


def run(checkout: Path) -> dict[tuple[str, str], str]:
    """The outcome of each test, by its file and its name."""
    files = [file for name in FILES if (checkout / (file := f"tests/test_{name}.py")).exists()]
    options = [f"-pno:{plugin}" for plugin in ("cacheprovider", "randomly", "xdist", "skillkit")]
    options += ["-c", os.devnull, "--rootdir", ".", "-o", "asyncio_mode=auto", "-o", "junit_family=xunit1"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", *files],
            cwd=checkout,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        cases = ElementTree.parse(report).getroot().iter("testcase")
        return {
            (Path(case.get("file", "")).stem.removeprefix("test_"), case.get("name", "")): _outcome(case)
            for case in cases
        }


def _outcome(case: ElementTree.Element) -> str:
    kinds = {child.tag for child in case}
    return "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
