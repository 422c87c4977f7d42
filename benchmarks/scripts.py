"""What running a script costs beside the bare interpreter and `uv run`, and what is left behind.

python3 dev.py bench scripts [RUNS] [--leaks N] [--record]
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from benchmarks.measure import record, table
from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority, Requester
from skillkit.core.models import SkillMetadata
from skillkit.core.pythons import own_python
from skillkit.scripts import Grants, LocalRunner, ScriptTools
from skillkit.scripts.inline_metadata import parse_inline_metadata
from skillkit.scripts.uv import find_uv, uv_settings

SCRIPTS = {
    "true.sh": "exit 0\n",
    "plain.py": "print('{}')\n",
    "packages.py": "# /// script\n# dependencies = ['click', 'idna']\n# ///\nimport click, idna\n",
    "talk.py": "import os\nfor _ in range(300): os.write(1, b'x' * (1 << 20))\n",
}
MIB = 1 << 20


class Allowing(DefaultAuthority):
    """Lets scripts run unsandboxed too, so that `none` can be measured."""

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        return Grants(unsandboxed=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=50, help="runs of each kind (default: 50)")
    parser.add_argument("--leaks", type=int, default=1000, help="runs in a row for the leak check")
    parser.add_argument("--record", action="store_true", help="keep the medians for the documentation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        base = write_skill(Path(scratch) / "skills")
        home = Path(scratch) / "home"
        tools = by_backend(base.parent, home)
        medians = {
            script: speed(base, script, home, tools, options.runs)
            for script in ("true.sh", "plain.py", "packages.py")
        }
        if options.record:
            record("scripts", {"unit": f"ms, median of {options.runs} warm runs", "scripts": medians})
        print(f"\nMemory: {talkative(tools)}")
        print(f"Leaks after {options.leaks} runs: {leaks(next(iter(tools.values())), options.leaks)}")
        make_removable(Path(scratch))


def write_skill(folder: Path) -> Path:
    base = folder / "bench"
    (base / "scripts").mkdir(parents=True)
    (base / "SKILL.md").write_text("---\nname: bench\ndescription: For measuring\n---\n")
    for name, text in SCRIPTS.items():
        (base / "scripts" / name).write_text(text)
    return base


def by_backend(skills: Path, home: Path) -> dict[str, ScriptTools]:
    """The three calls over each backend that works here."""
    manager = SkillManager(project_skill_dir=skills, anthropic_config_dir="", plugin_dirs=[])
    manager.discover()
    report = LocalRunner(home).sandbox.report()
    working = [name for name, reason in report.items() if not reason] + ["none"]
    return {
        name: ScriptTools(manager, LocalRunner(home, sandbox=name, concurrency=1), Allowing())
        for name in working
    }


def speed(base: Path, script: str, home: Path, tools: dict[str, ScriptTools], runs: int) -> dict[str, float]:
    """All contenders take turns, so that whatever else the machine does disturbs them alike."""
    path = str(base / "scripts" / script)
    python = str(own_python().program)
    settings = uv_settings()
    uv = [*(find_uv() or ("uv",)), "run", "-q", "--no-project", "--python", python]
    if script.endswith(".sh"):
        bare, with_uv = ["sh", path], [*uv, "sh", path]
    else:
        bare, with_uv = [environment_python(home, script), path], [*uv, "--script", path]
    contenders: dict[str, Callable[[], object]] = {
        "bare interpreter": lambda: subprocess.run(bare, capture_output=True, check=True),
        "uv run": lambda: subprocess.run(
            with_uv, capture_output=True, check=True, env=dict(settings.environment)
        ),
    }
    for name, tool in tools.items():
        contenders[f"skillkit, {name}"] = lambda tool=tool: run(tool, script)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(runs + 3):
        for name, action in contenders.items():
            started = perf_counter()
            action()
            if number >= 3:  # the first rounds fill caches
                times[name].append((perf_counter() - started) * 1000)
    floor = statistics.median(times["bare interpreter"])
    rows = []
    for name, taken in times.items():
        median, p95 = statistics.median(taken), sorted(taken)[int(0.95 * (len(taken) - 1))]
        rows.append([name, f"{median:.1f}", f"{p95:.1f}", f"{median - floor:+.1f}", f"{median / floor:.2f}"])
    table(f"{script}, {runs} warm runs each, ms", ["what", "median", "p95", "over bare", "× bare"], rows)
    return {name: round(statistics.median(taken), 1) for name, taken in times.items()}


def environment_python(home: Path, script: str) -> str:
    """The interpreter in the script's environment: the least that any runner has to start."""
    metadata = parse_inline_metadata(SCRIPTS[script])
    with LocalRunner(home).environments.in_use(Path(script), metadata) as environment:
        return str(environment.program)


def run(tools: ScriptTools, script: str) -> None:
    answer = tools.script_run("bench", script, json=False)
    if not answer["success"]:
        raise SystemExit(f"{script}: {answer}")


def talkative(tools: dict[str, ScriptTools]) -> str:
    grown = []
    for name, tool in tools.items():
        run(tool, "plain.py")
        Path("/proc/self/clear_refs").write_text("5")
        before = memory("VmHWM")
        run(tool, "talk.py")
        grown.append(f"{name} +{(memory('VmHWM') - before) / MIB:.1f} MiB")
    return "peak growth of this process while a script prints 300 MiB: " + ", ".join(grown)


def leaks(tools: ScriptTools, runs: int) -> str:
    for _ in range(20):
        run(tools, "true.sh")
    before = footprint()
    for _ in range(runs):
        run(tools, "true.sh")
    after = footprint()
    return ", ".join(f"{name} {after[name] - before[name]:+d}" for name in before)


def footprint() -> dict[str, int]:
    me = os.getpid()
    children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
    temporary = [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("skillkit-run-")]
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "children": len(children),
        "threads": len(os.listdir("/proc/self/task")),
        "work folders": len(temporary),
        "KiB of memory": memory("VmRSS") // 1024,
    }


def memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def make_removable(folder: Path) -> None:
    for where, _, _ in os.walk(folder):
        os.chmod(where, 0o755)


if __name__ == "__main__":
    main()
