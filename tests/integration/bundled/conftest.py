"""The bundled scripts, run against an exchange on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kalshi_exchange import Answer, Exchange

import skillkit

BUNDLED = Path(skillkit.__file__).parent / "bundled"


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    with Exchange() as running:
        yield running


@dataclass
class Ran:
    """How a script ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """Standard output, which must be one JSON object and nothing else."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a bundled script: `run("kalshi-markets/status", "--json", KALSHI_API_URL=…)`."""

    def run(script: str, *arguments: str, **environment: str) -> Ran:
        skill, _, name = script.partition("/")
        path = BUNDLED / skill / "scripts" / f"{name}.py"
        kept = {key: value for key, value in os.environ.items() if key.startswith("COVERAGE")}
        answer = subprocess.run(
            [sys.executable, "-B", path, *arguments],
            capture_output=True,
            cwd=path.parent,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path), **kept, **environment},
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=60,
        )
        return Ran(answer.returncode, answer.stdout.decode(), answer.stderr.decode())

    return run


@pytest.fixture
def kalshi(run: Run, exchange: Exchange) -> Run:
    """Run a script of kalshi-markets against the exchange: `kalshi("market", "KXA-1", "--json")`."""

    def kalshi(script: str, *arguments: str, **environment: str) -> Ran:
        return run(f"kalshi-markets/{script}", *arguments, **{"KALSHI_API_URL": exchange.url, **environment})

    return kalshi


@pytest.fixture
def answer() -> type[Answer]:
    return Answer
