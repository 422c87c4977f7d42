"""Every fault of a fleet, many times: how often the promises held, and how long callers waited.

python3 dev.py bench fleet.faults [ROUNDS]

Each round checks that no script started twice, that every caller was answered, and that no process is left.
"""

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from ray_cluster import INSIDE, namespace_command, why_no_namespace

ROOT = Path(__file__).parents[2]
INSIDE_TESTS = ROOT / "tests" / "integration" / "fleet" / "inside"
FAULTS = [str(INSIDE_TESTS / name) for name in ("inside_faults.py", "inside_head.py")]
HEAD = "head_dies"
"""Ends its cluster, so each of its rounds is a run of its own."""


def main(arguments: list[str]) -> int:
    if reason := why_no_namespace():
        print(f"Not measured: no namespace can be made here ({reason})")
        return 1
    rounds = int(arguments[0]) if arguments else 20
    held: dict[str, int] = defaultdict(int)
    tried: dict[str, int] = defaultdict(int)
    slowest: dict[str, float] = defaultdict(float)
    for name, passed, seconds in (
        *met(f"not {HEAD}", rounds),
        *(each for _ in range(rounds) for each in met(HEAD, 1)),
    ):
        tried[name] += 1
        held[name] += passed
        slowest[name] = max(slowest[name], seconds)
    print(f"{'fault':75} rounds  held  slowest answer")
    for name, number in tried.items():
        print(f"{name:75} {number:6} {held[name]:5} {slowest[name]:12.1f} s")
    return 0 if tried and held == tried else 1


def met(chosen: str, rounds: int) -> Iterator[tuple[str, bool, float]]:
    """Yield each test that was run: its name, whether it passed, and its slowest answer."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-n0", "-p", "no:randomly", "-p", "no:cacheprovider"]
        settings = ["-o", "python_files=inside_*.py", "-o", "junit_family=xunit1"]
        chosen_ones = [*settings, "-k", chosen, f"--junit-xml={report}", *FAULTS]
        command = [sys.executable, "-m", "pytest", *options, *chosen_ones]
        environment = {**os.environ, INSIDE: "1", "SKILLKIT_FAULT_ROUNDS": str(rounds)}
        subprocess.run([*namespace_command(), *command], cwd=ROOT, env=environment, check=False)
        for case in ElementTree.parse(report).iter("testcase"):
            name, _, round_of = case.get("name", "").partition("[")
            kind = "".join(word for word in round_of.rstrip("]").split("-") if not word.isdigit())
            passed = case.find("failure") is None and case.find("error") is None
            answers = [float(each.get("value", 0)) for each in case.iter("property")]
            yield f"{name} {kind}".strip(), passed, max(answers, default=0.0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
