"""`agent registry serve` as an operator starts it."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from program import clean_environment

AGENT = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]


class Serving(NamedTuple):
    """A running registry."""

    base: str
    process: "subprocess.Popen[str]"
    home: Path
    places: tuple[str, ...] = ()
    """The options that say where database and blobs are."""
    environment: Mapping[str, str] = MappingProxyType({})

    def agent(self, *words: str, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
        return agent(home or self.home, *words, *self.places, **self.environment)

    def token(self, user: str, *options: str) -> str:
        done = self.agent("registry", "token", "add", user, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def agent(home: Path, *words: str, given: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the program with a home of its own."""
    home.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [*AGENT, *words],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env=clean_environment(home, **environment),
        timeout=120,
    )


@contextmanager
def serving(
    home: Path,
    *options: str,
    places: tuple[str, ...] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Serving]:
    """Start the real program on a free port and end it by its process id."""
    home.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [*AGENT, "registry", "serve", "--port", "0", *options, *places],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=clean_environment(home, **environment),
    )
    try:
        assert process.stdout is not None
        base = process.stdout.readline().strip()
        assert re.match(r"https?://127\.0\.0\.1:\d", base), process.communicate(timeout=10)
        yield Serving(base, process, home, places, environment)
    finally:
        process.terminate()
        process.communicate(timeout=30)
