"""How long libraries take to know 1,000 skills, and what one bad file does to the ten beside it.

python3 dev.py bench peers [--record] [NAME…]

Each library is installed by its name into an environment of its own beneath the cache folder, once.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.core import write_skills
from benchmarks.measure import record, table

LOADING = Path(__file__).with_name("loading.py")
SKILLS, GOOD, PATIENCE = 1000, 10, 20


def _text(lines: str) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(
        b"---\nname: bad\ndescription: d\n" + lines.encode("latin-1") + b"\n---\n"
    )


_MERGED = (f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [{', '.join([f'*{chr(97 + n)}'] * 9)}]}}" for n in range(8))
BAD: dict[str, Callable[[Path], object]] = {
    "YAML that is none": _text("a: [never closed"),
    "not UTF-8": _text("a: caf\xe9"),
    "20,000 brackets": _text("a: " + "[" * 20_000),
    "merge keys of merge keys": _text("a: &a {k: v}\n" + "\n".join(_MERGED)),
    "a named pipe": os.mkfifo,
    "a folder of that name": Path.mkdir,
}
"""Each is the SKILL.md of a skill that stands beside ten good ones."""


@dataclass(frozen=True)
class Peer:
    """A package on the registry and the function of loading.py that uses it."""

    package: str
    function: str
    also: tuple[str, ...] = ()
    """What it needs and does not ask for."""

    def python(self) -> Path:
        """The interpreter that has it."""
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "skillkit" / "peers" / self.package
        interpreter = folder / "bin" / "python"
        if not interpreter.exists():
            print(f"Installing {self.package} …", file=sys.stderr)
            venv.create(folder, with_pip=True)
            command = [interpreter, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run([*command, self.package, *self.also], check=True)
        return interpreter

    def version(self) -> str:
        asked = f"from importlib.metadata import version; print(version({self.package.partition('==')[0]!r}))"
        return _said(self.python(), "-c", asked).strip()

    def load(self, folder: Path, rounds: int) -> dict[str, Any]:
        said = _said(self.python(), LOADING, self.function, folder, rounds)
        answer: dict[str, Any] = json.loads(said.splitlines()[-1])
        return answer

    def survives(self, bad: str, scratch: Path) -> bool:
        """Whether all the good skills beside a bad file are found, in time."""
        folder = scratch / bad
        write_skills(folder, GOOD)
        (folder / "bad").mkdir()
        BAD[bad](folder / "bad" / "SKILL.md")
        try:
            return bool(self.load(folder, 0).get("found", 0) >= GOOD)
        except (SystemExit, subprocess.TimeoutExpired):
            return False
        finally:
            shutil.rmtree(folder)


class Ourselves(Peer):
    def python(self) -> Path:
        return Path(sys.executable)


PEERS = {
    "skillkit": Ourselves("skillkit", "skillkit"),
    "deepagents": Peer("deepagents", "deepagents"),
    "Strands Agents": Peer("strands-agents", "strands"),
    "skillkit 0.4": Peer("skillkit==0.4.0", "skillkit", ("aiofiles",)),
    "Google ADK": Peer("google-adk", "adk"),
    "Agent Framework": Peer("agent-framework-core", "agent_framework"),
    "FastMCP": Peer("fastmcp", "fastmcp"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py bench peers", description=__doc__)
    parser.add_argument("names", nargs="*", help="only these: " + ", ".join(PEERS))
    parser.add_argument("--record", action="store_true", help="keep the numbers for the documentation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        many = Path(scratch) / "many"
        write_skills(many, SKILLS)
        rows = [measured(name, many) for name in options.names or PEERS]
    table(
        f"{SKILLS:,} skills, beside listing the folders and reading 4 KiB of each file",
        ["library", "version", "× floor", f"bad files that harm nobody, of {len(BAD)}"],
        [[str(cell) for cell in row.values()] for row in rows],
    )
    if options.record:
        record("peers", {"unit": "× floor", "skills": SKILLS, "bad": list(BAD), "libraries": rows})


def measured(name: str, many: Path) -> dict[str, object]:
    peer = PEERS[name]
    speed = peer.load(many, 3)
    if speed.get("found") != SKILLS:
        raise SystemExit(f"{name} does not find {SKILLS} skills: {speed}")
    harmless = [bad for bad in BAD if peer.survives(bad, many.parent)]
    return {
        "library": name,
        "version": peer.version(),
        "times": round(speed["taken"] / speed["floor"], 1),
        "harmless": len(harmless),
    }


def _said(*command: object) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
