"""Providers that skillkit does not ship: the one of the architecture page, and one that is broken."""

import re
from pathlib import Path
from typing import Any

import pytest
from openai_server import CallTool, OpenAIServer, Say

from skillkit.agent.conversations import ConversationStore
from skillkit.agent.providers import PROVIDERS
from skillkit.agent.runtime import AgentRuntime, find_enabled
from skillkit.agent.settings import ProviderSettings

PAGE = Path(__file__).parents[3] / "docs" / "extending.md"
SECTION = PAGE.read_text().partition("## A model provider")[2].partition("\n##")[0]


@pytest.fixture
def example() -> Any:
    """The class that the page shows."""
    [code] = re.findall(r"^```python\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"__name__": "example_models"}
    exec(compile(code, str(PAGE), "exec"), names)
    return names["ExampleProvider"]


async def test_the_provider_of_the_page_works_in_the_running_program(
    example: Any, home: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "k-0123456789")
    server.replies = [CallTool("greet_user", {"name": "Alice", "language": "fr"}), Say("Bonjour, Alice !")]
    provider = example(ProviderSettings(base_url=server.url))
    runtime = AgentRuntime(provider, find_enabled(print), ConversationStore().new())
    assert await runtime.answer("Say hello to Alice in French") == "Bonjour, Alice !"
    assert [request.body["model"] for request in server.requests] == ["example-large"] * 2
    await runtime.close()


@pytest.fixture
def broken_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package whose provider cannot be imported."""
    metadata = tmp_path / "addon-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: addon\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[skillkit.providers]\nbroken = addon_absent:Provider\n")
    monkeypatch.syspath_prepend(tmp_path)
    PROVIDERS.__dict__.pop("_added", None)  # remembered for the life of a program
    yield
    PROVIDERS.__dict__.pop("_added", None)


@pytest.mark.usefixtures("broken_package", "online")
def test_a_broken_package_harms_no_other_provider(agent) -> None:
    assert agent("-p", "Hello").stdout == "OK\n"
    shown = agent("config", "show", "--json")
    assert "addon_absent" in shown.stdout
    refused = agent("--provider", "broken", "-p", "Hello")
    assert refused.code == 1
    assert "Update or remove the package addon" in refused.stderr
