"""A skill written in Python works in every integration as a folder does, and is written out as one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conformance.drivers import DRIVERS
from conformance.script import Call, Driver, Reply

from skillkit import SkillManager
from skillkit.integrations import Conversation, SkillTools
from skillkit.integrations.default_tools import default_provider
from skillkit.toolsets import PythonSkill, PythonSkills

ORDERS = '''
from skillkit.toolsets import PythonSkill

orders = PythonSkill("shop-orders", "Look up orders of the shop.", "Run order_state.", license="MIT")


@orders.resource("references/states.md")
def states() -> str:
    return "open, sent, paid"


@orders.script
def order_state(number: int) -> dict[str, object]:
    """Print the state of an order."""
    return {"number": number, "state": "sent"}


@orders.tool
def find_order(number: int) -> str:
    """Find an order."""
    return f"Order {number} is here."
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(ORDERS)
    return tmp_path / "shop.py"


@pytest.fixture
def orders(file: Path) -> PythonSkills:
    from skillkit.toolsets.python_skills import python_skill

    return PythonSkills(python_skill(file, "shop-orders"))


def first_ways() -> list[type[Driver]]:
    return list({driver.title: driver for driver in reversed(DRIVERS)}.values())


@pytest.mark.parametrize("driver", first_ways(), ids=lambda driver: driver.title)
async def test_every_integration_has_its_text_files_and_scripts(driver: type[Driver], orders: PythonSkills):
    conversation = driver(default_provider(orders))
    run = {"skill_name": "shop-orders", "script_name": "order_state", "args": ["--number", "7"]}
    replies: list[Reply] = [
        [Call("load_skill", {"skill_id": "shop-orders"})],
        [Call("read_skill_resource", {"skill_id": "shop-orders", "path": "references/states.md"})],
        [Call("script_run", run)],
        "Done.",
    ]
    try:
        turn = await conversation.turn("Good morning.", replies)
    finally:
        await conversation.close()
    loaded, read, ran = turn.results
    assert "Run order_state." in loaded
    assert "references/states.md" in loaded
    assert "open, sent, paid" in read
    assert '"state": "sent"' in ran.replace("\\", "")


async def test_its_tools_are_there_while_it_is_in_use(orders: PythonSkills):
    conversation = Conversation(orders)
    assert conversation.tool("find_order") is None
    await conversation.call("load_skill", {"skill_id": "shop-orders"})
    assert "Order 7 is here." in (await conversation.call("find_order", {"number": 7})).text


def create(name: str, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    agent = Path(sys.executable).with_name("agent")
    command = [agent, "skill", "create", name, "--from-python", file, "--into", file.parent, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_skill_that_is_written_out_is_the_same_folder(file: Path, orders: PythonSkills):
    written = json.loads(create("shop-orders", file, "--json").stdout)
    assert written["files"] == ["SKILL.md", "references/states.md", "scripts/order_state.py"]
    orders.write()
    for name in written["files"]:
        original = orders.folder / "shop-orders" / name
        assert (file.parent / "shop-orders" / name).read_bytes() == original.read_bytes()
    manager = SkillManager(only=file.parent)
    manager.discover()
    [skill] = manager.list_skills()
    assert (skill.name, skill.license) == ("shop-orders", "MIT")


def test_a_file_without_that_skill_is_refused_with_those_it_has(file: Path):
    done = create("other", file)
    assert done.returncode == 1
    assert "has no PythonSkill called 'other': it defines shop-orders" in " ".join(done.stderr.split())
    assert not (file.parent / "other").exists()


def test_instructions_may_be_a_function_and_skills_a_list():
    skills = PythonSkills(PythonSkill("tides", "Times of high tide.", lambda: "Use the table."))
    request = SkillTools(skills).request([{"role": "user", "content": "Good morning."}])
    assert "- tides: Times of high tide" in request["messages"][0]["content"]
