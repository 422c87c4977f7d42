"""A request gets the bundled skill it needs, and none when it needs none."""

import json
import re

import pytest

from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider
from skillkit.disclosure.session import SkillSession
from skillkit.matching import SkillMatcher
from skillkit.scripts import ScriptTools

HELLO, KALSHI, AUTHOR = "hello-extended", "kalshi-markets", "skill-author"
REQUESTS = {
    "Say bonjour to Alice": HELLO,
    "Greet Alice in French": HELLO,
    "say good evening to the team in Japanese": HELLO,
    "greet my three friends each in a different language": HELLO,
    "Is the Kalshi exchange open?": KALSHI,
    "Show me the Kalshi orderbook for KXHIGHNY": KALSHI,
    "search prediction markets for bitcoin": KALSHI,
    "What are the odds that the Fed cuts rates in December?": KALSHI,
    "write a SKILL.md for our release process": AUTHOR,
    "improve the description in my SKILL.md": AUTHOR,
    "What is 2+2?": None,
    "Calculate pi to 10 digits": None,
    "Write a letter to my landlord": None,
    "Order a book about history": None,
}


@pytest.fixture(scope="module")
def manager() -> SkillManager:
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    manager.discover()
    return manager


@pytest.mark.parametrize(("request_", "wanted"), REQUESTS.items())
def test_the_right_skill_or_none(manager, request_, wanted):
    matches = SkillMatcher(manager.list_skills()).match(request_)
    assert [match.skill.name for match in matches] == ([wanted] if wanted else [])


@pytest.mark.parametrize("request_", [text for text, wanted in REQUESTS.items() if wanted in (HELLO, KALSHI)])
def test_by_triggers_alone_the_two_with_triggers_are_found(manager, request_):
    [match] = SkillMatcher(manager.list_skills(), mode="keyword").match(request_)
    assert match.skill.name == REQUESTS[request_]


async def test_no_code_of_a_script_is_in_any_request(manager):
    scripts = ScriptTools(manager)
    provider = SkillContextProvider(manager, tool_sources=())
    session = SkillSession()
    sent = ""
    for request in REQUESTS:
        disclosed = await provider.before_request(request, session)
        tools = [*disclosed.tools, *scripts.tools()]
        sent += disclosed.everything + json.dumps([[tool.description, tool.parameters] for tool in tools])
    assert "Ten scripts over Kalshi's public API" in sent
    code = {
        line.strip()
        for skill in manager.list_skills()
        for path in (skill.base_dir / "scripts").glob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"[=(:]", line) and len(line.strip()) > 25
    }
    assert len(code) > 300
    assert [line for line in code if line in sent] == []
