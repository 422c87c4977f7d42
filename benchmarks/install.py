"""What installing costs: starting the program, fetching one skill out of many, writing it safely.

python3 dev.py bench install [SKILLS]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import duration, table
from skillkit.install.installer import SkillInstaller

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
ATTEMPTS = 9


def main(count: int) -> None:
    sys.path.insert(0, str(SUPPORT))
    from git_http_server import GitServer
    from skill_repositories import Repository, skill_text

    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        repository = Repository(scratch / "git" / "skills.git")
        files: dict[str, bytes | str] = {}
        for number in range(count):
            files[f"skills/s{number}/SKILL.md"] = skill_text(f"s{number}")
            for page in range(9):
                files[f"skills/s{number}/references/{page}.md"] = os.urandom(2000).hex()
        repository.commit(files)
        table(
            "Installing over HTTP on loopback",
            ["what", "time", "received"],
            fetching(scratch, repository, GitServer),
        )
        table("Starting the program", ["what", "time", "× import typer, rich"], starting(scratch, repository))


def fetching(scratch: Path, repository: Any, server: Any) -> list[list[str]]:
    rows = []
    with server(repository.path.parent) as running:
        address = f"{running.url}/skills.git"
        began = time.perf_counter()
        installer = SkillInstaller(scratch / "one", consent=lambda proposal: True)
        installer.add(address, skills=["s1"])
        rows.append(
            ["one skill of ten files", duration(time.perf_counter() - began), f"{running.sent:,} bytes"]
        )
        before, began = running.sent, time.perf_counter()
        subprocess.run(["git", "clone", "-q", address, scratch / "clone"], check=True)
        rows.append(
            [
                "git clone, to compare",
                duration(time.perf_counter() - began),
                f"{running.sent - before:,} bytes",
            ]
        )
    return rows


def starting(scratch: Path, repository: Any) -> list[list[str]]:
    home = scratch / "home"
    SkillInstaller(home / ".agent", consent=lambda proposal: True).add(
        repository.url,
        everything=True,
    )
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "AGENT_SKILLS": "all"}
    agent = "from skillkit.agent.cli import main; main()"
    floor = fresh("import typer, rich", environment, scratch)
    listing = fresh(agent, environment, scratch, "skill", "list")
    version = fresh(agent, environment, scratch, "--version")
    return [
        [what, duration(seconds), f"{seconds / floor:.1f}"]
        for what, seconds in (
            ("python -c 'import typer, rich'", floor),
            ("agent skill list, all of them installed", listing),
            ("agent --version", version),
        )
    ]


def fresh(code: str, environment: dict[str, str], folder: Path, *arguments: str) -> float:
    """The least processor time of several runs in fresh processes."""
    least = float("inf")
    for _ in range(ATTEMPTS):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], env=environment, cwd=folder, stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"agent {' '.join(arguments)} ended with {process.returncode}")
        least = min(least, usage.ru_utime + usage.ru_stime)
    return least


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
