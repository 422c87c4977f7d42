"""Skills as LangChain tools, as programs of skillkit 0.1 and 0.2 use them."""

import pytest

pytest.importorskip("langchain_core", reason="the extra 'langchain' is not installed")

from skillkit import SizeLimitExceededError, SkillManager
from skillkit.integrations.langchain import SkillInput, create_langchain_tools


@pytest.fixture
def manager(skills_dir, write_skill):
    write_skill("pdf", "Read $ARGUMENTS.", description="Reads PDF files.")
    write_skill("csv", "Parse $ARGUMENTS.", description="Parses CSV files.")
    write_skill("hidden", disable_model_invocation="true")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    return manager


def test_each_offered_skill_is_a_tool(manager):
    tools = create_langchain_tools(manager)
    assert [(tool.name, tool.description) for tool in tools] == [
        ("csv", "Parses CSV files."),
        ("pdf", "Reads PDF files."),
    ]
    assert all(tool.args_schema is SkillInput for tool in tools)


def test_each_tool_invokes_its_own_skill(manager):
    texts = {tool.name: tool.invoke({"arguments": " x "}) for tool in create_langchain_tools(manager)}
    assert texts == {name: manager.invoke_skill(name, "x") for name in ("pdf", "csv")}


async def test_the_same_from_a_coroutine(manager):
    for tool in create_langchain_tools(manager):
        assert await tool.ainvoke({}) == manager.invoke_skill(tool.name)


def test_errors_come_through(manager):
    tool = create_langchain_tools(manager)[0]
    with pytest.raises(SizeLimitExceededError):
        tool.invoke({"arguments": "x" * 1_000_001})
