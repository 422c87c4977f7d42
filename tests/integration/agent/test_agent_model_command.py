"""`agent model …` and the providers that are reached over a network."""

import hashlib
import json
import os
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Say
from terminal import CTRL_D, start

from skillkit.agent.cli import model as model_command
from skillkit.agent.exceptions import ModelFileError
from skillkit.agent.local import files, provider, sources
from skillkit.agent.local.files import ModelFile, ModelStore
from skillkit.agent.local.provider import LocalProvider
from skillkit.agent.local.sources import HttpFile
from skillkit.agent.models.choice import choose
from skillkit.agent.settings import ProviderSettings, Settings

BYTES = os.urandom(4096)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small file in the place of the model, which no source has."""
    model = ModelFile("tiny", len(BYTES), hashlib.sha256(BYTES).hexdigest(), "MIT", ())
    monkeypatch.setattr(files, "QWEN_CODER", model)
    monkeypatch.setattr(files, "KNOWN_MODELS", (model,))
    monkeypatch.setattr(provider, "QWEN_CODER", model)
    monkeypatch.setattr(provider, "engine_installed", lambda: True)
    monkeypatch.setattr(sources, "engine_installed", lambda: True)
    monkeypatch.setattr(model_command, "QWEN_CODER", model)
    monkeypatch.setattr(model_command, "KNOWN_MODELS", (model,))
    path = tmp_path / "given.gguf"
    path.write_bytes(BYTES)
    return path


def test_a_model_is_installed_listed_verified_and_removed(agent, tiny: Path) -> None:
    assert json.loads(agent("model", "list", "--json").stdout)[0]["installed"] is False
    assert "agent model install" in " ".join(agent("model", "verify").stderr.split())
    done = agent("model", "install", "--from", str(tiny))
    assert done.code == 0
    assert "100 % of" in done.stderr
    assert "yes" in agent("model", "list").stdout
    assert "is intact" in agent("model", "verify").stdout
    ModelStore().path(files.QWEN_CODER).write_bytes(bytes(4096))
    spoiled = agent("model", "verify")
    assert spoiled.code == 1
    assert "not the publisher's" in " ".join(spoiled.stderr.split())
    assert agent("model", "remove").stdout == "Removed.\n"
    assert agent("model", "remove").stdout == "The embedded model was not installed.\n"


CASES = {"evals": [{"id": 1, "prompt": "Hello", "assertions": ['The output contains "7"']}]}
COMMANDS = {
    "-p": ("--provider", "local", "-p", "Hello"),
    "--json": ("--provider", "local", "-p", "Hello", "--json"),
    "chat": ("--provider", "local"),
    "skill test": ("skill", "test", "greeter", "--tier", "behaviour", "--provider", "local"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_size_origin_and_the_ways_around_it_are_told_before_the_first_byte(
    command: str, talk, tiny: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_skill("greeter", into=Path.cwd())
    (folder / "evals").mkdir()
    (folder / "evals" / "evals.json").write_text(json.dumps(CASES))
    nowhere = HttpFile("http://127.0.0.1:9/tiny.gguf")
    model = replace(files.QWEN_CODER, sources=(nowhere, HttpFile("http://127.0.0.2:9/tiny.gguf")))
    monkeypatch.setattr(provider, "QWEN_CODER", model)
    done = talk("Hello", options=COMMANDS[command])
    told = " ".join(done.stderr.split())
    assert done.code == 1
    assert "tiny (0.0 GB from 127.0.0.1 or 127.0.0.2)" in told
    for way in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "Ollama"):
        assert told.index(way) < told.index("cannot be reached")
    assert "127.0.0.1 cannot be reached: [Errno 111] Connection refused; trying 127.0.0.2 …" in told
    assert "could not be fetched" in told


@pytest.mark.parametrize("arguments", [("-p", "Hello"), ()])
def test_in_a_terminal_it_is_asked_for(home: Path, arguments: tuple[str, ...]) -> None:
    program = start(*arguments, "--provider", "local")
    if not arguments:
        program.at_prompt().press("Hello\r").expect("1.1 GB").expect("Fetch it now?").at_prompt().press("n\r")
        program.expect("Nothing was fetched").at_prompt().press(CTRL_D)
        assert program.end() == 0
    else:
        program.expect("1.1 GB").expect("Fetch it now?").type("n").expect("Nothing was fetched")
        assert program.end() == 1
    assert not ModelStore().folder.exists()


def test_the_engine_is_installed_with_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "wheels" / "tiny_engine-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_engine.py", "")
        info = "tiny_engine-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny_engine\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setattr(sources, "ENGINE", "tiny_engine")
    monkeypatch.setattr(sources.importlib.metadata, "requires", lambda name: ["tiny_engine>=1; extra == 'x'"])
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(wheel.parent), "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "installed"))
    monkeypatch.syspath_prepend(tmp_path / "installed")
    said: list[str] = []
    sources.install_engine(said.append)
    assert said == ["Installing tiny_engine>=1 with pip …"]
    assert sources.engine_installed()
    sources.install_engine(said.append)
    assert len(said) == 1
    monkeypatch.setattr(sources, "ENGINE", "no_engine")
    monkeypatch.setattr(sources.importlib.metadata, "requires", lambda name: ["no_engine>=1; extra == 'x'"])
    with pytest.raises(ModelFileError, match="pip cannot install no_engine>=1: "):
        sources.install_engine(said.append)


def test_a_file_that_is_no_model_is_one_line(agent, tiny: Path) -> None:
    pytest.importorskip("xllamacpp")
    agent("config", "set", "local.model", str(tiny))
    done = agent("--provider", "local", "-p", "Hello")
    assert done.code == 1
    assert "cannot be loaded" in " ".join(done.stderr.split())


def test_the_users_own_file_is_used_where_one_is_named(tiny: Path) -> None:
    provider = LocalProvider(ProviderSettings(model=str(tiny)))
    assert (provider.path(), provider.model, provider.problem()) == (tiny, "given", None)


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Something that lists models as Ollama does."""
    models = ["qwen3:4b"]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = json.dumps({"models": [{"name": name} for name in models]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.server_address[1]}")
        yield models
        server.shutdown()
        thread.join()


async def test_a_running_ollama_is_used_before_the_embedded_model(home: Path, ollama: list[str]) -> None:
    provider = choose(Settings())
    assert (provider.name, provider.model) == ("ollama", "qwen3:4b")
    client = provider.client()
    assert "/v1" in str(client.client.base_url)
    await client.client.close()
    ollama.clear()
    problem = choose(Settings(provider="ollama")).problem()
    assert problem is not None
    assert "ollama pull" in problem
    assert choose(Settings()).name == "local"


def test_azure_takes_a_deployment(agent, home: Path, server: OpenAIServer, monkeypatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key-0123456789")
    assert "AZURE_OPENAI_ENDPOINT" in agent("-p", "Hello").stderr
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
    assert "AZURE_OPENAI_DEPLOYMENT_NAME" in agent("-p", "Hello").stderr
    monkeypatch.setenv("AZURE_OPENAI_DEPLOYMENT_NAME", "my-deployment")
    server.replies = [Say("Hello from Azure")]
    assert agent("-p", "Hello").stdout == "Hello from Azure\n"


def test_settings_show_what_each_provider_lacks(agent, home: Path, monkeypatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    shown = json.loads(agent("config", "show", "--json").stdout)
    assert shown["provider"] == "local"
    assert "OPENAI_API_KEY" in shown["problems"]["openai"]
    done = agent("config", "provider", "gemini")
    assert "GEMINI_API_KEY" in done.stderr
    assert json.loads(agent("config", "approvals", "--json").stdout) == {"consents": []}
    assert "memory: on" in agent("config", "show").stdout
