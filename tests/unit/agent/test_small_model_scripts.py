"""A small model chooses among the scripts that there are."""

from dataclasses import replace

import pytest

from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.disclosure.tool_sources import FixedTools
from skillkit.disclosure.tools_of_use import ToolsOfUse
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.default_tools import ScriptSource
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
    assert properties["skill_id"]["enum"] == ["hello-extended"]
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
    assert ("read_skill_resource" in active) is (wrapper is ToolsOfUse), "there is nothing to read but code"
    assert "read_skill_resource" in offered(wrapper, "/skill-author")


async def test_it_is_not_asked_whether_a_script_prints_json(write_skill, tmp_path):
    folder = write_skill("sums", into=tmp_path)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "text.py").write_text("import sys\nprint(sys.argv[1:])\n")
    manager = SkillManager(project_skill_dir=tmp_path)
    manager.discover()
    session = SkillSession()
    given = []

    async def run(**arguments: object) -> str:
        given.append(arguments)
        return "done"

    scripts = ScriptTools(manager).tools()
    (tool,) = (replace(tool, handler=run) for tool in scripts if tool.name == "script_run")
    offered_run = SmallModelTools(FixedTools([tool]), manager).wrap(tool, session)
    assert offered_run is not None
    assert "json" not in offered_run.parameters["properties"]
    await offered_run.call({"skill_id": "sums", "script_name": "text"})
    await offered_run.call({"skill_id": "sums", "script_name": "text", "json": True})
    assert [arguments.get("json") for arguments in given] == [None, True]
