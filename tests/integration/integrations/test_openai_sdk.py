"""The plain tools with OpenAI's own SDK: its objects go in as they come out."""

from pathlib import Path
from typing import Any

import pytest
from openai_server import CallTool, OpenAIServer, Say

from skillkit import SkillManager
from skillkit.integrations.plain import SkillTools

openai = pytest.importorskip("openai")
LOAD = CallTool("load_skill", {"skill_id": "tide-tables"})


@pytest.fixture
def skills(write_skill, skills_dir: Path) -> SkillTools:
    write_skill("tide-tables", "Use the harmonic constants.", description="Tides of harbours.")
    manager = SkillManager(project_skill_dir=skills_dir)
    manager.discover()
    return SkillTools(manager)


async def whole_message(client: Any, request: dict[str, Any]) -> Any:
    completion = await client.chat.completions.create(model="gpt-5-mini", **request)
    return completion.choices[0].message


async def streamed_message(client: Any, request: dict[str, Any]) -> Any:
    async with client.chat.completions.stream(model="gpt-5-mini", **request) as stream:
        completion = await stream.get_final_completion()
    return completion.choices[0].message


@pytest.mark.parametrize("ask", [whole_message, streamed_message])
async def test_a_loop_keeps_and_answers_the_objects_of_the_sdk(skills: SkillTools, ask: Any) -> None:
    with OpenAIServer() as server:
        server.replies = [LOAD, Say("High water at noon.")]
        messages: list[Any] = [{"role": "user", "content": "Good morning"}]
        async with openai.AsyncOpenAI(base_url=server.url, api_key="none") as client:
            while (message := await ask(client, skills.request(messages))).tool_calls:
                messages.append(message)
                messages += [await skills.answer(call) for call in message.tool_calls]
        assert message.content == "High water at noon."
        role, text = server.requests[-1].spoken[-1]
    assert (role, "Use the harmonic constants." in text) == ("tool", True)
