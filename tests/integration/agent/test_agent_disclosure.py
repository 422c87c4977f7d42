"""Skill instructions are in a request when it needs them, and only then."""

import json
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say

from skillkit.agent.conversations import ConversationStore
from skillkit.core.manager import SkillManager
from skillkit.disclosure.tokens import TokenEstimator

BODY = "A toolset for what is asked often"  # a sentence of hello-extended's instructions


def test_a_request_that_needs_no_skill_carries_no_instructions(agent, online: OpenAIServer) -> None:
    done = agent("-p", "What is 2+2?")
    assert (done.code, done.stdout, done.stderr) == (0, "OK\n", "")
    (request,) = online.requests
    assert "## Agent Skills" in request.system
    assert BODY not in json.dumps(request.body)
    assert "greet_in_language" not in request.tools


def test_a_request_that_matches_carries_the_skill_and_its_tools(agent, online: OpenAIServer) -> None:
    online.replies = [
        CallTool("greet_in_language", {"name": "Alice", "language": "fr"}),
        Say("Bonjour, Alice !"),
    ]
    assert agent("-p", "Say bonjour to Alice").stdout == "Bonjour, Alice !\n"
    first, second = online.requests
    assert BODY not in first.system
    assert [BODY in text for _, text in first.spoken] == [False, True]
    assert {"greet_in_language", "script_run"} <= set(first.tools)
    assert "Bonjour, Alice" in second.spoken[-1][1]


def test_the_same_tools_are_offered_from_the_first_request_on(agent, online: OpenAIServer) -> None:
    agent("-p", "What is 2+2?")
    before = online.requests[-1].body["tools"]
    agent("--continue", "-p", "What is the order book of KXHIGHNY on Kalshi?")
    after = online.requests[-1]
    assert any("Ten scripts over Kalshi" in text for _, text in after.spoken)
    assert after.body["tools"] == before
    assert {"load_skill", "script_run"} <= set(after.tools)
    assert not {"greet_user", "hello_world"} & set(after.tools)


def test_a_script_tool_that_the_user_names_is_offered_without_any_skill(agent, online: OpenAIServer) -> None:
    online.replies = [CallTool("script_list", {}), Say("Eleven.")]
    assert agent("-p", "Use script_list to see all available scripts").stdout == "Eleven.\n"
    first, second = online.requests
    assert {"script_list", "script_help", "script_run"} <= set(first.tools)
    assert BODY not in json.dumps(first.body)
    assert "Found 11 scripts across 2 skills" in second.spoken[-1][1]


def test_a_new_conversation_begins_without_it_and_a_follow_up_keeps_it(agent, online: OpenAIServer) -> None:
    agent("-p", "Say bonjour to Alice")
    agent("-p", "What is 2+2?")
    assert BODY not in json.dumps(online.requests[-1].body)
    first = ConversationStore().all()[-1]
    agent("--continue", first.id, "-p", "And now what is 3+3?")
    said, skill, *_ = online.requests[-1].spoken
    assert said == ("user", "Say bonjour to Alice")
    assert BODY in skill[1]


def test_continue_without_an_id_takes_the_newest(agent, online: OpenAIServer) -> None:
    agent("-p", "Remember the number 4711")
    agent("--continue", "-p", "Which number?")
    assert [text for _, text in online.requests[-1].spoken] == [
        "Remember the number 4711",
        "OK",
        "Which number?",
    ]


def test_a_skill_that_the_model_loads_brings_its_toolset_in_the_same_turn(
    agent, online: OpenAIServer
) -> None:
    online.replies = [CallTool("load_skill", {"skill_id": "hello-extended"}), Say("Loaded.")]
    agent("-p", "What will the future bring?")
    first, second = online.requests
    assert "greet_in_language" not in first.tools
    assert {*first.tools, "greet_in_language"} <= set(second.tools)
    assert BODY in second.spoken[-1][1]


def test_without_skills_the_agent_has_its_own_tools_and_no_catalogue(
    agent, online: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_SKILLS", "none")
    online.replies = [
        CallTool("greet_user", {"name": "Alice", "language": "French"}),
        Say("Bonjour, Alice !"),
    ]
    assert agent("-p", "Say bonjour to Alice").stdout == "Bonjour, Alice !\n"
    first, second = online.requests
    assert first.tools == ["greet_user", "hello_world", "remember"]
    assert "## Agent Skills" not in first.system
    assert "Bonjour, Alice !" in second.spoken[-1][1]


def test_an_irrelevant_request_costs_a_tenth_of_static_injection(
    agent, home: Path, online: OpenAIServer, monkeypatch: pytest.MonkeyPatch, write_skill
) -> None:
    paragraph = "Follow the steps in this order and check every result before you go on to the next one.\n"
    for topic in ("pdf-forms", "spreadsheets", "databases", "photos", "invoices", "contracts"):
        folder = write_skill(topic, f"# {topic}\n" + paragraph * 70, into=home / "skills")
        assert folder.is_dir()
    monkeypatch.setenv("AGENT_SKILLS", "all")
    monkeypatch.setenv("LOG_LEVEL", "trace")
    agent("-p", "What is 2+2?")
    (log,) = (home / "logs").glob("session-*-trace.log")
    spent = json.loads(log.read_text().splitlines()[0])["tokens"]["skills"]
    manager = SkillManager(additional_search_paths=[home / "skills"], bundled=True)
    manager.discover()
    static = sum(TokenEstimator().count(manager.invoke_skill(skill.name)) for skill in manager.list_skills())
    assert 0 < spent <= static / 10
    assert paragraph not in online.requests[-1].system


def test_a_skill_that_fails_to_load_is_reported_and_the_agent_goes_on(
    agent, home: Path, online: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = home / "skills" / "broken"
    broken.mkdir(parents=True)
    (broken / "SKILL.md").write_bytes(b"---\nname: broken\ndescription: \xff\xfe\n---\n")
    monkeypatch.setenv("AGENT_SKILLS", "all")
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (0, "OK\n")
    assert "broken" in done.stderr


def test_a_skill_that_is_not_there_is_named_and_the_agent_goes_on(
    agent, online: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_SKILLS", "hello-extended,nobody")
    done = agent("-p", "Hello")
    assert (done.code, done.stdout) == (0, "OK\n")
    assert "AGENT_SKILLS names skills that were not found: nobody" in done.stderr


def test_the_user_starts_a_skill_by_name(agent, online: OpenAIServer) -> None:
    agent("-p", "/hello-extended Bob in Dutch")
    assert BODY in online.requests[-1].spoken[-1][1]


def test_verbose_shows_what_happened_on_stderr(agent, online: OpenAIServer) -> None:
    online.replies = [CallTool("list_languages", {}), Say("Fourteen.")]
    done = agent("--verbose", "-p", "Greet whom in which languages?")
    assert done.stdout == "Fourteen.\n"
    for part in ("matched hello-extended", "tool list_languages", "tokens: system", "123 in, 7 out"):
        assert part in done.stderr


def test_verbose_can_be_a_setting(agent, online: OpenAIServer) -> None:
    agent("config", "set", "verbose", "on")
    assert "none needed" in agent("-p", "What is 2+2?").stderr
