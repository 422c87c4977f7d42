"""Skills are added to an agent: its own prompt and its own tools stay what they were."""

from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent as FrameworkAgent
from agent_framework import tool as framework_tool
from agents import Agent as OpenAIAgent
from agents import RunConfig, Runner, function_tool
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from anthropic import Anthropic
from conformance.drivers.agent_framework import AgentFrameworkDriver, ScriptedClient
from conformance.drivers.langchain import LangChainDriver, ScriptedChatModel
from conformance.drivers.pydantic_ai import PydanticAIDriver
from conformance.library import Library, friendly, write
from conformance.script import Call, Driver
from langchain.agents import create_agent
from langchain_core.tools import tool as langchain_tool
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.function import FunctionModel

from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations.agent_framework import SkillsContextProvider
from skillkit.integrations.anthropic import AnthropicSkills
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.langchain import SkillsMiddleware
from skillkit.integrations.openai_agents import SkillAgent, add_skills
from skillkit.integrations.pydantic_ai import SkillSessions, SkillsToolset, neutral_messages

PROMPT = "You are a sailor."
REPLIES: list[Any] = [
    [Call("own_tool", {"word": "ahoy"})],
    [Call("load_skill", {"skill_id": "runner"})],
    "Done.",
]


def own_tool(word: str) -> str:
    """Say a word."""
    return f"<<{word}>>"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return friendly(tmp_path / "skills")


def check(driver: Driver) -> None:
    turn = driver.model.turn
    for seen in turn.seen:
        assert seen.instructions.startswith(PROMPT)
        assert "## Agent Skills" in seen.instructions
        assert {"own_tool", "load_skill"} <= set(seen.tools)
    said, loaded = turn.results
    assert "<<ahoy>>" in said
    assert "Call script_run." in loaded


class LangChainModel(ScriptedChatModel):
    """Sees the agent's own tools too, in the form they come in."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        named = [
            tool if isinstance(tool, dict) else {"function": {"name": tool.name, "parameters": {}}}
            for tool in tools
        ]
        return super().bind_tools(named, **kwargs)


@pytest.mark.parametrize("blocking", [False, True])
async def test_langchain(library: Library, blocking: bool):
    driver = LangChainDriver(library.provider)
    agent: Any = create_agent(
        LangChainModel(driver=driver),
        tools=[langchain_tool(own_tool)],
        system_prompt=PROMPT,
        middleware=[SkillsMiddleware(library.provider)],
    )
    driver.model.begin(REPLIES)
    request = {"messages": [{"role": "user", "content": "Good morning."}]}
    state = agent.invoke(request) if blocking else await agent.ainvoke(request)
    assert state["messages"][-1].content == "Done."
    check(driver)


async def test_pydantic_ai(library: Library):
    driver = PydanticAIDriver(library.provider)
    agent = PydanticAgent(
        FunctionModel(driver._respond),
        instructions=PROMPT,
        tools=[own_tool],
        toolsets=[SkillsToolset(library.provider)],
    )
    driver.model.begin(REPLIES)
    assert (await agent.run("Good morning.")).output == "Done."
    check(driver)


async def test_agent_framework(library: Library):
    driver = AgentFrameworkDriver(library.provider)
    agent: FrameworkAgent[Any] = FrameworkAgent(
        ScriptedClient(driver),
        PROMPT,
        tools=[framework_tool(approval_mode="never_require")(own_tool)],
        context_providers=[SkillsContextProvider(library.provider)],
    )
    driver.model.begin(REPLIES)
    assert (await agent.run("Good morning.")).text == "Done."
    check(driver)


@pytest.mark.parametrize("own_class", [True, False])
async def test_openai_agents(library: Library, own_class: bool):
    conversation = Conversation(library.provider)
    model = ScriptedModel(
        [
            ModelStep([function_call("own_tool", '{"word": "ahoy"}', call_id="1")]),
            ModelStep([function_call("load_skill", '{"skill_id": "runner"}', call_id="2")]),
            ModelStep([assistant_message("Done.")]),
        ]
    )
    agent: OpenAIAgent[Any]
    if own_class:
        agent = SkillAgent(
            name="a",
            model=model,
            instructions=PROMPT,
            tools=[function_tool(own_tool)],
            conversation=conversation,
        )
    else:
        own = OpenAIAgent[Any](name="a", model=model, instructions=PROMPT, tools=[function_tool(own_tool)])
        agent = add_skills(own, lambda context: conversation)
    result = await Runner.run(agent, "Good morning.", run_config=RunConfig(tracing_disabled=True))
    assert result.final_output == "Done."
    for call in model.calls:
        assert (call.system_instructions or "").startswith(PROMPT)
        assert "## Agent Skills" in (call.system_instructions or "")
        assert {"own_tool", "load_skill"} <= {tool.name for tool in call.tools}
    last: Any = model.calls[-1].input
    outputs = [item["output"] for item in last if item.get("type") == "function_call_output"]
    assert "<<ahoy>>" in outputs[0]
    assert "Call script_run." in outputs[1]


async def test_an_openai_agent_without_a_conversation_is_any_agent():
    model = ScriptedModel([ModelStep([assistant_message("Done.")])])
    agent = SkillAgent[Any](name="a", model=model, instructions=PROMPT)
    await Runner.run(agent, "Good morning.", run_config=RunConfig(tracing_disabled=True))
    (call,) = model.calls
    assert (call.system_instructions, call.tools) == (PROMPT, [])


def test_anthropic_blocks_keep_the_prompt_first_and_cache_up_to_the_note(library: Library):
    skills = AnthropicSkills(library.provider)
    request: Any = skills.request(
        [{"role": "user", "content": "Please fill in this PDF form."}], prompt=PROMPT
    )
    prompt, catalogue = request["system"]
    assert prompt == {"type": "text", "text": PROMPT}
    assert "cache_control" in catalogue
    [message] = request["messages"]
    said, skill = message["content"]
    assert said == {"type": "text", "text": "Please fill in this PDF form."}
    assert skill["text"].startswith('<skill_context id="pdf-forms">')
    assert "cache_control" in skill
    shown = {"role": "user", "content": "Good morning."}
    write(library.folder, "late-comer", "Comes late.")
    library.manager.refresh()
    [message] = skills.request([shown])["messages"]  # type: ignore[list-item]
    *kept, note = message["content"]  # type: ignore[misc]
    assert "cache_control" in kept[-1]
    assert note["text"].startswith("<skill_note>")  # type: ignore[index, typeddict-item]
    assert "cache_control" not in note


@pytest.fixture
def nothing(tmp_path: Path) -> SkillContextProvider:
    manager = SkillManager(project_skill_dir=tmp_path, anthropic_config_dir="")
    return SkillContextProvider(manager)


async def test_without_skills_nothing_is_added(nothing: SkillContextProvider):
    request = AnthropicSkills(nothing).request([{"role": "user", "content": "Good morning."}])
    assert (request["system"], request["tools"]) == ([], [])
    driver = AgentFrameworkDriver(nothing)
    turn = await driver.turn("Good morning.", ["Good morning!"])
    assert (turn.seen[0].instructions, turn.seen[0].tools) == ("", {})
    driver = LangChainDriver(nothing)
    turn = await driver.turn("Good morning.", ["Good morning!"])
    assert (turn.seen[0].instructions, turn.seen[0].tools) == ("", {})


async def test_an_unknown_tool_is_the_frameworks_to_answer(library: Library):
    driver = LangChainDriver(library.provider)
    turn = await driver.turn("Good morning.", [[Call("no_such_tool")], "Done."])
    assert "no_such_tool" in turn.results[0]


def test_pydantic_sessions_forget_the_oldest_conversation(library: Library):
    sessions = SkillSessions(limit=2)
    for name in ("a", "b", "c"):
        sessions[name] = Conversation(library.provider).session
    assert list(sessions) == ["b", "c"]


def test_pydantic_prompts_of_several_parts_are_read():
    assert neutral_messages([], ["Look:", object(), "a form"]) == [
        {"role": "user", "content": "Look:\na form"}
    ]
    assert neutral_messages([], None) == []


def test_the_runner_of_anthropic_takes_tools_of_ones_own(library: Library):
    from anthropic.lib.tools import beta_tool

    with Anthropic(api_key="none", base_url="http://127.0.0.1:9") as client:
        skills = AnthropicSkills(library.provider)
        runner = skills.runner(
            client,
            model="m",
            max_tokens=1,
            messages=[{"role": "user", "content": "Hello"}],
            tools=[beta_tool(own_tool)],
        )
        names = [tool["name"] for tool in runner._params["tools"]]
    assert names[:2] == ["own_tool", "load_skill"]
