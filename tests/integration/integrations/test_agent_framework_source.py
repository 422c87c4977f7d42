"""Our catalogue in Agent Framework's own SkillsProvider."""

from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, Message, SkillsProvider, SkillsSourceContext
from conformance.drivers.agent_framework import AgentFrameworkDriver, ScriptedClient
from conformance.library import Library, friendly, hostile
from conformance.script import Call

from skillkit import SkillManager
from skillkit.integrations.agent_framework import SkillKitSource

CONTEXT = SkillsSourceContext(agent=None, session=None)  # type: ignore[arg-type]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return friendly(tmp_path / "skills")


async def test_the_framework_reads_and_runs_what_we_offer(library: Library):
    driver = AgentFrameworkDriver(library.provider)
    source = SkillKitSource(library.manager, library.scripts)
    agent: Agent[Any] = Agent(ScriptedClient(driver), context_providers=[SkillsProvider(source)])
    session = agent.create_session()
    resource = {"skill_name": "pdf-forms", "resource_name": "references/fields.md"}
    script = {"skill_name": "runner", "script_name": "echo.py", "args": ["--json", "a b"]}
    turn = driver.model.begin(
        [
            [Call("load_skill", {"skill_name": "pdf-forms"})],
            [Call("read_skill_resource", resource)],
            [Call("run_skill_script", script)],
            "Done.",
        ]
    )
    response = await agent.run("Good morning.", session=session)
    while response.user_input_requests:
        answers = [asked.to_function_approval_response(True) for asked in response.user_input_requests]
        response = await agent.run(Message("user", answers), session=session)
    assert response.text == "Done."
    assert "not-trusted" not in turn.seen[0].instructions
    loaded, page, ran = turn.results
    assert "Fill in" in loaded
    assert "Name, date." in page
    assert '"arguments": ["a b"]' in ran.replace('\\"', '"'), ran


async def test_it_sees_the_same_skills_of_the_hostile_library(tmp_path: Path):
    library = hostile(tmp_path / "skills")
    skills = await SkillKitSource(library.manager).get_skills(CONTEXT)
    # The framework insists on the specification's names; what breaks it is left out and logged.
    names = [skill.frontmatter.name for skill in skills]
    assert names == [name for name in library.provider.get_skill_names() if name.isascii()]
    assert all([await skill.get_content() for skill in skills])


async def test_a_manager_that_was_never_filled_is_filled(library: Library):
    manager = SkillManager(project_skill_dir=library.folder, anthropic_config_dir="")
    skills = await SkillKitSource(manager).get_skills(CONTEXT)
    assert "pdf-forms" in [skill.frontmatter.name for skill in skills]


async def test_what_is_not_there_is_none(library: Library):
    skills = {
        skill.frontmatter.name: skill for skill in await SkillKitSource(library.manager).get_skills(CONTEXT)
    }
    assert await skills["runner"].get_script("missing.py") is None
    assert await skills["pdf-forms"].get_resource("../runner/SKILL.md") is None
