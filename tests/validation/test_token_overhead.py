"""What skills cost a prompt, counted exactly: the promise that makes progressive disclosure worth it."""

import json
from collections.abc import Sequence

import pytest

from skillkit import SkillManager
from skillkit.disclosure import EncodingCounter, SkillContextProvider, SkillSession, Tool, cost_report
from skillkit.matching import SkillMatcher
from skillkit.scripts import ScriptTools

TOPICS = {
    "invoice-reader": "Extract totals, dates and line items from invoices in PDF or image form",
    "meeting-notes": "Turn a transcript of a meeting into decisions, owners and deadlines",
    "release-notes": "Write release notes from the commits between two tags",
    "sql-tuning": "Explain slow SQL queries and propose indexes for them",
    "travel-planner": "Plan trips with trains and hotels within a budget",
    "contract-review": "Find unusual clauses in contracts and explain their risk",
    "chart-maker": "Draw charts from CSV files with sensible axes and colours",
    "kubernetes-doctor": "Find out why a pod does not start and how to repair it",
    "podcast-editor": "Cut silence, level the volume and write show notes for audio",
    "recipe-scaler": "Scale recipes to another number of guests and convert units",
}
LINE = "{number}. Look at the input first, note what is missing, and ask before you guess about {topic}.\n"


def body(topic: str, tokens: int, counter: EncodingCounter) -> str:
    """Instructions of the size that real skills have."""
    text = f"# {topic}\n\n"
    number = 0
    while counter.count(text) < tokens:
        number += 1
        text += LINE.format(number=number, topic=topic)
    return text


@pytest.fixture(scope="module")
def counter() -> EncodingCounter:
    return EncodingCounter.named("o200k_base")


@pytest.fixture
def ten_skills(write_skill, skills_dir, counter) -> SkillManager:
    for name, description in TOPICS.items():
        write_skill(name, body(name, 1300, counter), description=description)
    return SkillManager(project_skill_dir=skills_dir)


async def test_a_request_without_skills_is_ninety_percent_smaller_than_static_injection(ten_skills, counter):
    provider = SkillContextProvider(ten_skills, counter=counter, matcher=SkillMatcher(mode="lexical"))
    disclosed = await provider.before_request("What is 2+2?", SkillSession())
    static = sum(counter.count(ten_skills.invoke_skill(name)) for name in TOPICS)
    assert static >= 13_000
    assert disclosed.matched == ()
    assert counter.count(disclosed.everything) <= static / 10
    assert disclosed.tokens.total <= static / 10


async def test_a_request_with_a_skill_pays_for_that_skill_only(ten_skills, counter):
    provider = SkillContextProvider(ten_skills, counter=counter, matcher=SkillMatcher(mode="lexical"))
    without = await provider.before_request("What is 2+2?", SkillSession())
    with_skill = await provider.before_request("Why does my kubernetes pod not start?", SkillSession())
    assert [match.skill.name for match in with_skill.matched] == ["kubernetes-doctor"]
    added = counter.count(with_skill.everything) - counter.count(without.everything)
    one = counter.count(ten_skills.invoke_skill("kubernetes-doctor"))
    assert one < added < one + 150


def test_the_cost_report_says_the_same(ten_skills, counter):
    report = cost_report(ten_skills, counter=counter)
    assert report.saved >= 0.9
    assert all(skill.tier1 <= 100 and skill.tier2 >= 1300 for skill in report.skills)


async def test_the_catalogue_of_two_skills_is_small(write_skill, skills_dir, counter):
    for name in ("hello-extended", "kalshi-markets"):
        write_skill(name, description="What it does, and when to use it, in about forty words " * 4)
    provider = SkillContextProvider(
        SkillManager(project_skill_dir=skills_dir), counter=counter, matcher=SkillMatcher(mode="lexical")
    )
    disclosed = await provider.before_request("What is 2+2?")
    assert counter.count(disclosed.instructions) <= 250
    assert disclosed.tokens.tools <= 150


async def test_the_estimate_agrees_with_the_count(ten_skills, counter):
    request = "Why does my kubernetes pod not start?"
    exact = SkillContextProvider(ten_skills, counter=counter, matcher=SkillMatcher(mode="lexical")).disclose(
        request
    )
    estimated = SkillContextProvider(ten_skills, matcher=SkillMatcher(mode="lexical")).disclose(request)
    assert estimated.tokens.total == pytest.approx(exact.tokens.total, rel=0.1)


def test_the_schemas_of_the_tools_are_small(write_skill, skills_dir, counter):
    for number in range(120):
        write_skill(f"skill-{number:03}", description=f"Does the thing number {number} with great care")
    manager = SkillManager(project_skill_dir=skills_dir)
    own = SkillContextProvider(manager, counter=counter).tools(SkillSession())
    assert [tool.name for tool in own] == ["load_skill", "read_skill_resource", "search_skills"]
    assert tokens(counter, own) <= 130
    scripts = ScriptTools(manager).tools()
    assert tokens(counter, scripts) <= 150
    [run] = [tool for tool in scripts if tool.name == "script_run"]
    assert run.parameters["properties"]["json"]["description"]


def tokens(counter: EncodingCounter, tools: Sequence[Tool]) -> int:
    definitions = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools
    ]
    return counter.count(json.dumps(definitions, separators=(",", ":"), default=dict))
