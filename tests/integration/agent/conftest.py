"""The agent against a model server on loopback, or against the embedded model for real."""

import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from program import closing_journals

KEY = "sk-test-0123456789abcdef"
BUNDLED = "hello-extended,kalshi-markets"


@dataclass(frozen=True)
class Outcome:
    """How a run of the program ended."""

    code: int
    stdout: str
    stderr: str


Agent = Callable[..., Outcome]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agent's home folder, and an empty folder to work in."""
    folder = tmp_path / "agent-home"
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("AGENT_HOME", str(folder))
    monkeypatch.chdir(work)
    for name in [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("OLLAMA")]:
        monkeypatch.delenv(name)
    return folder


@pytest.fixture
def online(home: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The server as the provider, with both bundled skills active."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("AGENT_SKILLS", BUNDLED)
    return server


@pytest.fixture
def agent(home: Path, capsys: pytest.CaptureFixture[str]) -> Agent:
    """The program, in this process: `agent("-p", "Hello")`."""
    from skillkit.agent.cli import output
    from skillkit.agent.cli.app import app
    from skillkit.agent.cli.outcome import run

    def call(*arguments: str) -> Outcome:
        output.console.cache_clear()  # it holds on to the streams of the test before
        with closing_journals():
            code = run(app, arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def talk(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """The chat with lines from a pipe."""

    def call(*lines: str, options: tuple[str, ...] = ()) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return agent(*options)

    return call
