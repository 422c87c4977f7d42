"""Every provider through the framework's own client, over real HTTP: streaming, tools, failures."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from anthropic_server import AnthropicServer
from gemini_server import GeminiServer
from model_server import CallTool, Fail, ModelServer, Say
from openai_server import OpenAIServer

KEY = "key-0123456789abcdef"
SERVERS: dict[str, type[ModelServer]] = {
    "openai": OpenAIServer,
    "azure": OpenAIServer,
    "ollama": OpenAIServer,
    "gemini": GeminiServer,
    "anthropic": AnthropicServer,
}
# The framework's client for Claude needs anthropic<2, skillkit's own integration a newer one.
CLAUDE = ("agent-framework-anthropic==1.0.0b261022", "anthropic==1.17.0")
PROVIDERS = [
    # One worker fetches the packages.
    pytest.param(name, marks=pytest.mark.xdist_group("claude")) if name == "anthropic" else name
    for name in SERVERS
]
MOST = [
    # Each question is a process of its own.
    pytest.param(name, marks=[pytest.mark.slow, pytest.mark.xdist_group("claude")])
    if name == "anthropic"
    else name
    for name in SERVERS
]
BAD_KEY = {"gemini": Fail(400, "API key not valid. Please pass a valid API key.")}


def environment(provider: str, address: str) -> dict[str, str]:
    match provider:
        case "openai":
            return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{address}/v1"}
        case "azure":
            return {
                "AZURE_OPENAI_API_KEY": KEY,
                "AZURE_OPENAI_ENDPOINT": address,
                "AZURE_OPENAI_DEPLOYMENT_NAME": "test",
            }
        case "ollama":
            return {"OLLAMA_HOST": address}
        case "gemini":
            return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": address}
        case _:
            return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address}


@pytest.fixture(scope="session")
def claude_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What only the client for Claude needs, where it does not push aside what the others need."""
    folder = tmp_path_factory.mktemp("claude")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *CLAUDE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and not os.environ.get("CI"):
        pytest.skip(f"the packages cannot be fetched: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(provider: str) -> Iterator[ModelServer]:
    with SERVERS[provider]() as running:
        yield running


@pytest.fixture
def ask(provider: str, model: ModelServer, request: pytest.FixtureRequest):
    """The program with this provider; the client for Claude in a process of its own."""
    agent, start_agent, monkeypatch = map(request.getfixturevalue, ("agent", "start_agent", "monkeypatch"))

    def call(*arguments: str, address: str | None = None):
        variables = {"AGENT_SKILLS": "hello-extended", **environment(provider, address or model.address)}
        if provider == "anthropic":
            packages = request.getfixturevalue("claude_packages")
            done = start_agent("--provider", provider, *arguments, **variables, PYTHONPATH=str(packages))
            return done.returncode, done.stdout, done.stderr
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        done = agent("--provider", provider, *arguments)
        return done.code, done.stdout, done.stderr

    return call


def test_an_answer_is_streamed_and_its_tokens_are_the_providers(ask, model, provider: str) -> None:
    model.replies = [Say("The sum is 4.")]
    code, out, err = ask("--model", "test", "--verbose", "-p", "What is 2+2?")
    assert (code, out) == (0, "The sum is 4.\n"), err
    (request,) = model.requests
    assert model.streams(request)
    assert "You act only through tools" in request.system
    assert request.spoken == [("user", "What is 2+2?")]
    assert "123 in, 7 out" in err
    assert request.body.get("max_tokens", 8192) >= 8192


def test_a_tool_is_called_and_its_result_goes_back(ask, model) -> None:
    model.replies = [
        CallTool("greet_in_language", {"name": "Alice", "language": "fr"}),
        Say("Bonjour, Alice !"),
    ]
    code, out, err = ask("--model", "test", "-p", "Say bonjour to Alice")
    assert (code, out) == (0, "Bonjour, Alice !\n"), err
    first, second = model.requests
    assert {"greet_in_language", "script_run"} <= set(first.tools)
    assert "Greeted Alice in French" in second.spoken[-1][1]


@pytest.mark.parametrize("provider", MOST, indirect=True)
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Fail(401, f"bad {KEY}"), "refused the key. Check the variable that holds it: agent config show"),
        (
            Fail(429, "slow down"),
            "limits the request rate. Wait, or choose another: --provider NAME. It says: slow down",
        ),
        (
            Fail(402, "You exceeded your current quota"),
            "reports that the quota is exhausted. Choose another: --provider NAME. It says: You exceeded "
            "your current quota",
        ),
        (
            Fail(404, "no such model"),
            "does not know the model 'nobody'. Choose another: --model NAME. It says: no such model",
        ),
        (
            Fail(503, "overloaded"),
            "failed with status 503. Try again later. It says: overloaded",
        ),
        (Fail(400, "no such tool"), "refused the request: no such tool"),
        (
            Fail(413, "This model's maximum context length is 128000 tokens"),
            "reports that the conversation exceeds its context window. Shorten it with /compact, start a "
            "new one with /clear, or choose a model with a larger window: --model NAME. It says: This "
            "model's maximum",
        ),
    ],
    ids=["key", "rate", "quota", "model", "trouble", "refused", "length"],
)
def test_what_goes_wrong_is_one_line_with_the_remedy(ask, model, provider, reply: Fail, words: str) -> None:
    if reply.status == 401:
        reply = BAD_KEY.get(provider, reply)
    model.replies = [reply] * 10
    code, out, err = ask("--model", "nobody", "-p", "Hello")
    assert (code, out) == (1, "")
    last = one_line(err).partition("Error: ")[2]
    assert last.startswith(f"The provider '{provider}' {words}")
    assert KEY not in err or provider == "ollama"  # which has no key that could be known
    if reply.status in (429, 503):
        assert len(model.requests) == 3


@pytest.mark.parametrize("provider", MOST, indirect=True)
def test_a_network_that_is_down_is_one_line_too(ask, provider: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        code, out, err = ask("--model", "test", "-p", "Hello", address=address)
    assert (code, out) == (1, "")
    if provider == "ollama":
        assert one_line(err) == f"Error: Ollama does not answer at {address}. Start it with: ollama serve"
    else:
        path = "/v1" if provider == "openai" else ""
        assert one_line(err) == (
            f"Error: The provider '{provider}' cannot be reached at {address}{path}. "
            "Check the network, or work without it: --provider local"
        )


@pytest.mark.parametrize("provider", MOST[-2:], indirect=True)
def test_a_setting_names_another_address(ask, model, agent, provider: str) -> None:
    agent("config", "set", f"{provider}.base_url", model.address)
    code, out, err = ask("--model", "test", "-p", "Hello", address="http://127.0.0.1:9")
    assert (code, out) == (0, "OK\n"), err


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
