"""What a framework has of its own and an integration must not take away."""

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import SystemMessage

from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations.anthropic import AnthropicSkills
from skillkit.integrations.langchain import _system_message
from skillkit.integrations.mcp.http import http_app
from skillkit.integrations.mcp.server import SkillServer


@pytest.fixture
def manager(tmp_path) -> SkillManager:
    folder = tmp_path / "skills" / "pdf"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads PDF files.\n---\nRead it.\n")
    return SkillManager(project_skill_dir=tmp_path / "skills", anthropic_config_dir="")


def used(name: str, **arguments: object) -> Any:
    return SimpleNamespace(type="tool_use", id=f"id-{name}", name=name, input=arguments)


def test_calls_of_the_programs_own_tools_are_left_to_it_and_failures_are_flagged(manager):
    skills = AnthropicSkills(manager)
    calls = [used("my_own"), used("load_skill", skill_id="pdf"), used("load_skill", skill_id="none")]
    message: Any = SimpleNamespace(content=calls)
    answer: Any = skills.results_blocking(message)
    assert [(block["tool_use_id"], block["is_error"]) for block in answer["content"]] == [
        ("id-load_skill", False),
        ("id-load_skill", True),
    ]
    assert skills.results_blocking(SimpleNamespace(content=[used("my_own")])) is None  # type: ignore[arg-type]


def test_content_blocks_of_a_system_message_keep_their_cache_marks(manager):
    disclosure = SkillContextProvider(manager).disclose("Good morning.")
    rules = {"type": "text", "text": "RULES", "cache_control": {"type": "ephemeral"}}
    extended = _system_message(SystemMessage([rules]), disclosure.instructions)
    assert extended is not None
    assert extended.content == [rules, {"type": "text", "text": disclosure.instructions}]
    plain = _system_message(SystemMessage("RULES"), disclosure.instructions)
    assert plain is not None
    assert plain.content == f"RULES\n\n{disclosure.instructions}"


@pytest.mark.parametrize(
    ("name", "value", "status"), [("host", "[abc", 400), ("origin", "http://[abc", 403), ("host", "", 421)]
)
async def test_an_address_that_is_none_is_refused_and_not_an_error(manager, name, value, status):
    sent: list[Any] = []
    headers = {"host": "localhost", name: value}

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope: Any = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "headers": [(key.encode(), text.encode()) for key, text in headers.items()],
    }
    await http_app(SkillServer(manager))(scope, receive, send)
    assert sent[0]["status"] == status
