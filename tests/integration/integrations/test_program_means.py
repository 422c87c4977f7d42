"""What a program decides itself: skills in Python, skills pinned and unloaded, words around the list."""

from pathlib import Path
from typing import Any

import pytest

from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority, PerTenantAuthority, Requester
from skillkit.core.availability import Refusal
from skillkit.core.exceptions import ConfigurationError
from skillkit.disclosure import SkillContextProvider, SkillRefusedError, SkillSession
from skillkit.disclosure.skill_tools import UnloadSkill
from skillkit.integrations import Conversation
from skillkit.toolsets import PythonSkill, PythonSkills


@pytest.fixture
def manager(tmp_path: Path) -> SkillManager:
    folder = tmp_path / "skills" / "tides"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: tides\ndescription: Times of high tide.\n---\nUse the table.\n"
    )
    return SkillManager(project_skill_dir=tmp_path / "skills", anthropic_config_dir="")


@pytest.fixture
def orders() -> PythonSkills:
    skills = PythonSkills()

    @skills.skill("Look up orders of the shop.", license="MIT")
    def shop_orders() -> str:
        return "Call find_order with $ARGUMENTS."

    @shop_orders.resource("references/states.md")
    def states() -> str:
        return "open, sent, paid"

    @shop_orders.tool()
    def find_order(number: int) -> str:
        """Find an order."""
        return f"Order {number} is sent."

    return skills


async def test_skills_written_in_python_have_the_same_catalogue_and_tools(
    manager: SkillManager, orders: PythonSkills
):
    conversation = Conversation(manager)
    orders.attach(manager)
    seen = conversation.disclose("Good morning.")
    assert "- shop-orders: Look up orders of the shop" in seen.instructions
    assert "- tides" in seen.instructions
    loaded = await conversation.call("load_skill", {"skill_id": "shop-orders", "arguments": "17"})
    assert "Call find_order with 17." in loaded.text
    page = await conversation.call(
        "read_skill_resource", {"skill_id": "shop-orders", "path": "references/states.md"}
    )
    assert "open, sent, paid" in page.text
    assert "find_order" in [tool.name for tool in conversation.tools()]
    assert "Order 17 is sent." in (await conversation.call("find_order", {"number": "17"})).text
    assert "find_order" not in [tool.name for tool in Conversation(manager).tools()]


async def test_a_skill_written_in_python_is_trusted_as_written_and_obeys_the_policy(
    manager: SkillManager, orders: PythonSkills
):
    class TrustsNothing(DefaultAuthority):
        def offer_refusal(self, skill: Any, requester: Requester) -> Refusal | None:
            return Refusal("untrusted", "not approved")

    manager.authority = TrustsNothing()
    orders.attach(manager)
    assert [skill.name for skill in manager.offered_skills()] == ["shop-orders"]
    (orders.folder / "shop-orders" / "SKILL.md").write_text("---\nname: shop-orders\n---\nObey.\n")
    assert manager.offered_skills() == []
    orders.write()
    manager.authority = PerTenantAuthority({"staff": ["*"]}, manager.authority)
    guest = Conversation(manager, requester=Requester(program="shop", conversation="7", tenant="guest"))
    assert "shop-orders" not in guest.disclose("Good morning.").instructions


def test_a_skill_in_python_cannot_write_elsewhere(manager: SkillManager):
    escaping = PythonSkill("escape", "Escapes.", "x", resources={"../../outside.md": "x"})
    with pytest.raises(Exception, match="outside"):
        PythonSkills(escaping).attach(manager)
    with pytest.raises(ConfigurationError):
        PythonSkill("../x", "No name.", "x")


async def test_a_program_pins_a_skill_for_a_conversation(manager: SkillManager):
    manager.discover()
    conversation = Conversation(manager)
    conversation.pin("tides")
    disclosed = conversation.disclose([{"role": "user", "content": "Good morning."}])
    assert "Use the table." in disclosed.everything
    restored = SkillSession.from_data(conversation.session.to_data())
    assert restored.pinned == {"tides"}
    with pytest.raises(SkillRefusedError):
        conversation.pin("nothing")


async def test_a_skill_can_be_unloaded_by_the_model(manager: SkillManager):
    manager.tool_sources.append(UnloadSkill())
    conversation = Conversation(manager)
    await conversation.call("load_skill", {"skill_id": "tides"})
    done = await conversation.call("unload_skill", {"skill_name": "Tides"})
    assert (done.failed, 'status="unloaded"' in done.text) == (False, True)
    assert conversation.session.active_ids == ()
    again = await conversation.call("unload_skill", {"skill_id": "tides"})
    assert (again.failed, '<error code="not_found">' in again.text) == (True, True)
    assert "Use the table." in (await conversation.call("load_skill", {"skill_id": "tides"})).text


def test_tools_are_added_to_a_conversation_that_has_begun(manager: SkillManager):
    conversation = Conversation(manager)
    assert conversation.tool("unload_skill") is None
    manager.tool_sources.append(UnloadSkill())
    assert conversation.tool("unload_skill") is not None
    assert "unload_skill" in {tool.name for tool in conversation.tools()}


def test_the_programs_own_words_stand_around_the_list(manager: SkillManager):
    provider = SkillContextProvider(manager, template="Our skills:\n{skills}\nPrefer them.")
    instructions = Conversation(provider).disclose("Good morning.").instructions
    assert instructions.startswith("Our skills:\n## Agent Skills")
    assert instructions.endswith("\nPrefer them.")
    with pytest.raises(ConfigurationError, match="template"):
        SkillContextProvider(manager, template="No place for it.")
