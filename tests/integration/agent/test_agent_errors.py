"""What goes wrong is one line that says what to do, and exit code 1."""

import json
import socket

import pytest
from openai_server import Fail, OpenAIServer

from skillkit.agent.exceptions import ProviderError
from skillkit.agent.models.failures import friendly
from skillkit.agent.models.openai import OpenAIProvider

KEY = "sk-test-0123456789abcdef"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "refused the key"),
        (403, "refused the key"),
        (404, "does not know the model 'no-such-model'"),
        (400, "refused the request"),
    ],
)
def test_an_error_of_the_provider_is_one_friendly_line(
    agent, online: OpenAIServer, status: int, words: str
) -> None:
    online.replies = [Fail(status, f"bad {KEY}")] * 3
    done = agent("--model", "no-such-model", "-p", "Hello")
    assert (done.code, done.stdout) == (1, "")
    line = " ".join(done.stderr.split())
    assert line.startswith("Error: The provider 'openai'")
    assert words in line
    assert KEY not in done.stderr


@pytest.mark.parametrize(("status", "words"), [(429, "request rate"), (500, "Try again later")])
def test_statuses_that_clients_try_again_are_explained_too(status: int, words: str) -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = type("StatusError", (Exception,), {"status_code": status})("inner")
    assert words in str(friendly(error, OpenAIProvider()))


def test_an_error_of_ours_stays_as_it_is() -> None:
    outer = RuntimeError("outer")
    outer.__cause__ = ProviderError("what to do")
    assert str(friendly(outer, OpenAIProvider())) == "what to do"
    assert "odd" in str(friendly(ValueError("odd"), OpenAIProvider()))


def test_a_provider_that_cannot_be_reached(agent, home, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}/v1")
        done = agent("-p", "Hello")
    assert done.code == 1
    assert "cannot be reached" in " ".join(done.stderr.split())


def test_a_provider_without_a_key_says_which(agent, home) -> None:
    done = agent("--provider", "openai", "-p", "Hello")
    assert done.code == 1
    assert "export OPENAI_API_KEY=" in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["anthropic", "azure", "gemini"])
def test_every_provider_says_what_it_needs(agent, home, name: str) -> None:
    done = agent("--provider", name, "-p", "Hello")
    assert done.code == 1
    assert "export " in done.stderr


def test_an_unknown_provider_lists_the_known_ones(agent, home) -> None:
    done = agent("--provider", "skynet", "-p", "Hello")
    assert done.code == 1
    assert "local, openai" in " ".join(done.stderr.split())


def test_a_damaged_settings_file_is_named(agent, home) -> None:
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text("[]")
    done = agent("-p", "Hello")
    assert done.code == 1
    assert "agent config init --force" in " ".join(done.stderr.split())
    assert agent("config", "init").code == 1
    assert agent("config", "init", "--force").code == 0
    assert json.loads(agent("config", "show", "--json").stdout)["settings"]["memory"] is True


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (422, {"detail": [{"loc": ["body", "tools"], "msg": "not permitted"}]}, "body.tools: not permitted"),
        (422, {"detail": "No such parameter"}, "No such parameter"),
        (400, {"reason": "odd", "field": "tools"}, '{"reason": "odd", "field": "tools"}'),
        (413, "<html><style>p{}</style><h1>413 Too Large</h1> by a proxy</html>", "413 Too Large by a proxy"),
    ],
)
def test_a_service_is_quoted_whatever_the_shape_of_its_words(status: int, body: object, words: str) -> None:
    kind = type("StatusError", (Exception,), {"status_code": status, "body": body, "message": "Error code"})
    text = str(friendly(kind("Error code"), OpenAIProvider()))
    assert text.endswith(words)
    assert ("/compact" in text) == (status == 413)
