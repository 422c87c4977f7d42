"""Each file of examples/ as a user starts it, with only the model scripted; the page shows the same."""

import asyncio
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic_server import AnthropicServer
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from model_server import CallTool, ModelServer, Recorded, Say
from openai_server import OpenAIServer

from skillkit import SkillManager
from skillkit.core.exceptions import ConfigurationError
from skillkit.integrations import SkillTools


@pytest.fixture(autouse=True)
def own_event_loop() -> Iterator[None]:
    """An example may run in an event loop that its framework makes and does not close."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
    asyncio.set_event_loop(None)


ROOT = Path(__file__).parents[3]
START = ROOT / "docs" / "start"
LOAD = CallTool("load_skill", {"skill_id": "csv-report"})
TEXT = "skill_context"


class ThreadServer(AnthropicServer):
    """The SDK's runner sends only what is new in a thread; the service has the rest."""

    def objection(self, request: Recorded) -> str | None:
        return None


def session(example: str) -> tuple[list[str], str]:
    """The arguments with which a page starts the example, and the answer that it shows."""
    pages = "".join(page.read_text() for page in START.glob("*.md"))
    [(line, answer)] = re.findall(rf"^\$ python examples/{example}\.py (.+)\n(.+)$", pages, re.MULTILINE)
    return shlex.split(line), answer


@pytest.mark.parametrize(
    ("example", "service"),
    [
        ("openai_sdk", OpenAIServer),
        ("agent_framework_agent", OpenAIServer),
        ("pydantic_ai_agent", OpenAIServer),
        ("anthropic_sdk", ThreadServer),
    ],
)
def test_it_loads_a_skill_and_answers(example: str, service: type[ModelServer]):
    (model, question), answer = session(example)
    with service() as server:
        server.replies += [LOAD, Say(answer)]
        keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
        urls = {"OPENAI_BASE_URL": f"{server.address}/v1", "ANTHROPIC_BASE_URL": server.address}
        done = subprocess.run(
            [sys.executable, f"examples/{example}.py", model, question],
            env={**os.environ, **keys, **urls},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout == f"{answer}\n", done.stderr
    first, second = (json.dumps(request.body) for request in server.requests)
    assert "- csv-report: " in first
    assert TEXT in first, "the request matches"
    assert "already active" in second, "the answer to the call"


def test_openai_agents(monkeypatch: pytest.MonkeyPatch):
    from agents.testing import ScriptedModel, assistant_message, function_call

    monkeypatch.chdir(ROOT)
    call = function_call("load_skill", {"skill_id": "csv-report"}, call_id="call_1")
    model = ScriptedModel([[call], [assistant_message("Forty rows.")]])
    answer = runpy.run_path("examples/openai_agents.py")["answer"]
    assert answer(model, "Good morning") == "Forty rows."
    first, second = model.calls
    assert "- csv-report: " in str(first.system_instructions)
    assert first.system_instructions == second.system_instructions
    assert TEXT in str(second.input)


def test_langchain(monkeypatch: pytest.MonkeyPatch):
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **settings: Any) -> Any:
            return self

    monkeypatch.chdir(ROOT)
    call = {"name": "load_skill", "args": {"skill_id": "csv-report"}, "id": "call_1"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Forty rows.")]))
    assert runpy.run_path("examples/langchain_agent.py")["answer"](model, "Good morning") == "Forty rows."


async def test_mcp():
    parameters = StdioServerParameters(command=sys.executable, args=["examples/mcp_server.py"], cwd=ROOT)
    async with Client(stdio_client(parameters)) as client:
        answer = await client.call_tool("load_skill", {"skill_id": "csv-report"})
    assert TEXT in str(answer.content)


@pytest.mark.parametrize(
    "example",
    [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem != "quick_start"],
    ids=lambda path: path.stem,
)
def test_a_page_shows_the_whole_program(example: Path):
    pages = [page.read_text() for page in START.glob("*.md")]
    assert sum(f"```python\n{example.read_text()}```" in page for page in pages) == 1


def test_only_the_folders_that_are_named_are_searched(write_skill, tmp_path: Path, monkeypatch):
    for folder in ("skills", ".claude/skills", "first", "second"):
        write_skill(f"of-{Path(folder).name}{len(folder)}", into=tmp_path / folder)
    write_skill("same", into=tmp_path / "first")
    write_skill("same", into=tmp_path / "second")
    monkeypatch.chdir(tmp_path)
    manager = SkillManager(only=["first", Path("second")])
    manager.discover()
    assert {skill.name for skill in manager.list_skills()} == {"of-first5", "of-second6", "same"}
    assert manager.get_skill("same").base_dir == tmp_path / "first" / "same"
    assert SkillTools("first").instructions().count("- of-") == 1
    with pytest.raises(ConfigurationError, match="only='nowhere'"):
        SkillManager(only="nowhere")
    with pytest.raises(ConfigurationError, match="cannot be combined"):
        SkillManager(only="first", plugin_dirs=["second"])
