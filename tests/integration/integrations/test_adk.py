"""ADK's own SkillToolset on our catalogue and in our sandbox; `dev.py columns peers adk` runs it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from adk_environment import SandboxedEnvironment
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.skill_toolset import SkillToolset
from google.genai import types

from skillkit import SkillManager
from skillkit.core.authority import PerTenantAuthority
from skillkit.integrations.adk import SkillKitRegistry


@pytest.fixture
def manager(tmp_path: Path) -> SkillManager:
    folder = tmp_path / "skills" / "tides"
    for name, content in {
        "SKILL.md": "---\nname: tides\ndescription: Times of high tide.\n---\nUse the table.\n",
        "references/table.md": "noon",
        "assets/logo.png": b"\x89PNG\r\n",
        "scripts/tell.py": "import os; print('noon', sorted(os.listdir('/')).count('work'))\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    manager = SkillManager(project_skill_dir=tmp_path / "skills", anthropic_config_dir="")
    manager.discover()
    return manager


class Scripted(BaseLlm):
    """Makes these calls, one after the other, and notes the answers."""

    calls: list[Any]
    seen: list[Any]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        parts = llm_request.contents[-1].parts or []
        self.seen += [part.function_response.response for part in parts if part.function_response]
        name, arguments = self.calls.pop(0) if self.calls else ("", {})
        call = types.Part(function_call=types.FunctionCall(name=name, args=arguments))
        part = call if name else types.Part(text="Done.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def test_its_own_toolset_takes_our_catalogue_and_our_sandbox(manager: SkillManager):
    environment = SandboxedEnvironment()
    toolset = SkillToolset(registry=SkillKitRegistry(manager), environment=environment)
    model = Scripted(
        model="scripted",
        seen=[],
        calls=[
            ("search_skills", {"query": "when is high tide?"}),
            ("load_skill", {"skill_name": "tides"}),
            ("load_skill_resource", {"skill_name": "tides", "file_path": "references/table.md"}),
            (
                "run_skill_script",
                {
                    "skill_name": "tides",
                    "file_path": "scripts/tell.py",
                    "command": "python3 skills/tides/scripts/tell.py",
                },
            ),
        ],
    )
    runner = InMemoryRunner(LlmAgent(name="agent", model=model, tools=[toolset]), app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text="Good morning.")])
    async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        pass
    found, loaded, resource, script = model.seen
    assert "tides" in str(found)
    assert "Use the table." in str(loaded)
    assert "noon" in str(resource)
    assert (script["stdout"].strip(), script["exit_code"]) == ("noon 0", 0), script
    folder = environment.working_dir
    await environment.close()
    assert not folder.exists()


async def test_the_registry_has_what_the_policy_offers(manager: SkillManager):
    registry = SkillKitRegistry(manager)
    skill = await registry.get_skill(name="tides")
    assert set(skill.resources.scripts) == {"tell.py"}
    assert skill.resources.assets == {"logo.png": b"\x89PNG\r\n"}
    manager.authority = PerTenantAuthority({})
    with pytest.raises(ValueError, match="no skill"):
        await registry.get_skill(name="tides")
    assert await registry.search_skills(query="high tide") == []
