"""A small model chooses among the scripts that there are."""

import pytest

from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.disclosure.tools_of_use import ToolsOfUse
from skillkit.integrations.conversation import Conversation, ScriptSource
from skillkit.integrations.small_model import SmallModelTools
from skillkit.scripts import ScriptTools


def offered(wrapper: type[ToolsOfUse], request: str) -> dict[str, dict[str, dict[str, object]]]:
    """The parameters of the tools that a conversation has after `request`."""
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    provider = SkillContextProvider(manager, tool_sources=[ScriptSource(ScriptTools(manager), manager)])
    conversation = Conversation(provider, SkillSession(), wrap=lambda source: wrapper(source, manager))
    tools = conversation.disclose(request).tools
    return {tool.name: dict(tool.parameters)["properties"] for tool in tools}  # type: ignore[misc]


def test_it_can_only_run_the_scripts_of_the_skill_in_use():
    properties = offered(SmallModelTools, "/hello-extended")["script_run"]
    assert properties["skill_name"]["enum"] == ["hello-extended"]
    assert properties["script_name"]["enum"] == ["advanced_greeting"]
    run = offered(SmallModelTools, "/kalshi-markets")["script_run"]
    assert "orderbook" in run["script_name"]["enum"]  # type: ignore[operator]


def test_it_may_ask_for_help_with_a_name_that_is_wrong_and_learns_the_right_ones():
    assert "enum" not in offered(SmallModelTools, "/hello-extended")["script_help"]["script_name"]


def test_other_models_are_spared_the_names():
    assert "enum" not in offered(ToolsOfUse, "/hello-extended")["script_run"]["script_name"]


@pytest.mark.parametrize("wrapper", [ToolsOfUse, SmallModelTools])
def test_only_what_leads_somewhere_is_offered(wrapper: type[ToolsOfUse]):
    assert set(offered(wrapper, "What is 2+2?")) == {"load_skill"}
    named = offered(wrapper, "Use script_list to see all scripts")
    assert {"script_list", "script_help", "script_run"} <= set(named)
    active = offered(wrapper, "/hello-extended")
    assert list(active)[-1] == "load_skill"
    assert "hello-extended" not in active["load_skill"]["skill_id"]["enum"]  # type: ignore[operator]
    assert "read_skill_resource" in active
