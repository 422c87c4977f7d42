"""A small model chooses among the scripts that there are."""

import pytest

from skillkit import SkillManager
from skillkit.agent.skills import ScriptToolSource, SkillProvider
from skillkit.disclosure import SkillContextProvider
from skillkit.scripts import ScriptTools


def offered(small_model: bool, skill: str) -> dict[str, dict[str, object]]:
    """The parameters of the tools in a conversation that has loaded `skill`."""
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    source = ScriptToolSource(manager, ScriptTools(manager))
    provider = SkillProvider(SkillContextProvider(manager, tool_sources=[source]), small_model=small_model)
    provider.disclosure.disclose(f"/{skill}", provider.session)
    return {tool.name: tool.parameters()["properties"] for tool in provider.new_tools([])}


@pytest.mark.parametrize("tool", ["script_run", "script_help"])
def test_it_can_only_name_the_scripts_of_the_skill_in_use(tool):
    properties = offered(True, "hello-extended")[tool]
    assert properties["skill_name"]["enum"] == ["hello-extended"]
    assert properties["script_name"]["enum"] == ["advanced_greeting"]
    assert "orderbook" in offered(True, "kalshi-markets")[tool]["script_name"]["enum"]


@pytest.mark.parametrize("tool", ["script_run", "script_help"])
def test_other_models_are_spared_the_names(tool):
    properties = offered(False, "hello-extended")[tool]
    assert "enum" not in properties["script_name"]
