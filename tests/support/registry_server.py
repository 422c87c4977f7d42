"""`agent registry serve` as an operator starts it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from program import clean_environment

AGENT = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]


class Serving(NamedTuple):
    """A running registry."""

    base: str
    process: "subprocess.Popen[str]"
    home: Path

    def agent(
        self, *words: str, home: Path | None = None, given: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        return agent(home or self.home, *words, given=given)

    def token(self, user: str, *options: str) -> str:
        done = self.agent("registry", "token", "add", user, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def agent(home: Path, *words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    """Run the program with a home of its own."""
    home.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [*AGENT, *words],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env=clean_environment(home),
        timeout=120,
    )


@contextmanager
def serving(home: Path, *options: str) -> Iterator[Serving]:
    """Start the real program on a free port and end it by its process id."""
    home.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [*AGENT, "registry", "serve", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=clean_environment(home),
    )
    try:
        assert process.stdout is not None
        base = process.stdout.readline().strip()
        assert base.startswith("http://127.0.0.1:"), process.communicate(timeout=10)
        yield Serving(base, process, home)
    finally:
        process.terminate()
        process.communicate(timeout=30)
