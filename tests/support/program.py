"""The program in this process, and the environment that a person's shell would give it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from unittest.mock import patch


def clean_environment(home: object, **more: str) -> dict[str, str]:
    """HOME and PATH alone; coverage may watch."""
    watching = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return {"HOME": str(home), "PATH": os.environ["PATH"]} | watching | more


@contextmanager
def closing_journals() -> Iterator[None]:
    """Write the last events of journals that are made here, as the end of a process does."""
    at_exit: list[Callable[[], None]] = []
    with patch("skillkit.journal.sqlite.atexit", SimpleNamespace(register=at_exit.append)):
        yield
        for close in reversed(at_exit):
            close()


def run_here(
    *arguments: object, cwd: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run `agent` as a process of its own would be run, for a tenth of the cost; nobody can be asked.

    What only a process can show, such as signals, PYTHONPATH or streams that are closed, needs one.
    """
    from skillkit.agent.cli import output
    from skillkit.agent.cli.app import app
    from skillkit.agent.cli.outcome import run

    given = [str(argument) for argument in arguments]
    with (
        TemporaryFile("w+", encoding="utf-8") as stdout,
        TemporaryFile("w+", encoding="utf-8") as stderr,
        open(os.devnull) as nothing,
        chdir(cwd),
        patch.dict(os.environ, environment, clear=True),
        patch.multiple(sys, stdin=nothing, stdout=stdout, stderr=stderr),
    ):
        output.console.cache_clear()  # it holds on to the streams of the run before
        with closing_journals():
            code = run(app, given)
        output.console.cache_clear()
        said = [stream.seek(0) or stream.read() for stream in (stdout, stderr)]
    return subprocess.CompletedProcess(["agent", *given], code, *said)
