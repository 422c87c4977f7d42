"""A small model chooses among the scripts that there are."""

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


def test_it_can_only_run_the_scripts_of_the_skill_in_use():
    properties = offered(True, "hello-extended")["script_run"]
    assert properties["skill_name"]["enum"] == ["hello-extended"]
    assert properties["script_name"]["enum"] == ["advanced_greeting"]
    assert "orderbook" in offered(True, "kalshi-markets")["script_run"]["script_name"]["enum"]


def test_it_may_ask_for_help_with_a_name_that_is_wrong_and_learns_the_right_ones():
    assert "enum" not in offered(True, "hello-extended")["script_help"]["script_name"]


def test_other_models_are_spared_the_names():
    assert "enum" not in offered(False, "hello-extended")["script_run"]["script_name"]
