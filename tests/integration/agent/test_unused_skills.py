"""A skill that fits a request and may not be used is said once, with the command that changes it."""

import json
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say

BONJOUR = "Say bonjour to Alice"


@pytest.fixture
def barcodes(home: Path, online: OpenAIServer, write_skill) -> Path:
    """A skill of the project that nobody approved."""
    return write_skill(
        "barcodes", description="Reads barcodes from photos.", triggers="[barcode]", into=Path("skills")
    )


def test_one_that_is_not_trusted_has_its_command(agent, barcodes: Path, monkeypatch) -> None:
    monkeypatch.setenv("AGENT_SKILLS", "barcodes")
    said = agent("-p", "Read the barcode on this photo")
    assert (said.code, said.stdout) == (0, "OK\n")
    assert said.stderr.endswith(") but is not trusted: agent skill trust barcodes\n")
    assert said.stderr.startswith("barcodes fits (")
    assert "none needed" not in agent("-v", "-p", "Read the barcode on this photo").stderr
    assert "none needed" in agent("-v", "-p", "What is 2+2?").stderr


def test_one_that_is_not_active_has_its_command(agent, online: OpenAIServer, monkeypatch) -> None:
    monkeypatch.delenv("AGENT_SKILLS")
    assert agent("-p", BONJOUR).stderr.endswith("is not active: agent skill enable hello-extended\n")
    monkeypatch.setenv("AGENT_SKILLS", "kalshi-markets")
    command = "is not active: export AGENT_SKILLS=hello-extended,kalshi-markets\n"
    assert agent("-p", BONJOUR).stderr.endswith(command)
    monkeypatch.setenv("AGENT_SKILLS", "none")
    assert agent("-p", BONJOUR).stderr == "", "no skill is what the user wants"


def test_it_is_said_once_in_a_conversation(talk, barcodes: Path, monkeypatch) -> None:
    monkeypatch.delenv("AGENT_SKILLS")
    said = talk("Read the barcode", "And this barcode?").stderr
    assert said.count("barcodes fits (") == 1


def test_why_tells_what_was_used_and_what_came_near(talk, barcodes: Path) -> None:
    shown = " ".join(talk("Greet Bob in French and read the barcode", "/why").stdout.split())
    assert "hello-extended matched (" in shown
    assert "barcodes fits (" in shown


def test_one_that_is_not_active_and_only_near_does_not_fit(talk, online: OpenAIServer, monkeypatch) -> None:
    monkeypatch.delenv("AGENT_SKILLS", raising=False)
    shown = " ".join(talk("odds on rain", "/why").stdout.split())
    assert "kalshi-markets near, but not enough (0." in shown
    assert "fits" not in shown


def test_why_names_the_command_for_one_that_fits(talk, online: OpenAIServer, monkeypatch) -> None:
    monkeypatch.delenv("AGENT_SKILLS", raising=False)
    shown = " ".join(talk(BONJOUR, "/why").stdout.split())
    assert ") but is not active: agent skill enable hello-extended" in shown


def test_data_for_programs_has_results_without_fences(agent, online: OpenAIServer) -> None:
    online.replies = [CallTool("list_languages", {}), Say("Many.")]
    [call] = json.loads(agent("--json", "-p", "Greet people in which languages?").stdout)["tool_calls"]
    assert "<skill_output" not in call["result"]
    assert json.loads(call["result"])["success"] is True


def test_at_the_level_of_tracing_the_tokens_are_on_stderr(agent, online: OpenAIServer, monkeypatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "trace")
    assert "tokens: system " in agent("-p", "What is 2+2?").stderr


def test_an_address_needs_no_key(agent, online: OpenAIServer, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert agent("-p", "Hello").stdout == "OK\n"
    assert "ready at http://127.0.0.1" in " ".join(agent("config", "show").stdout.split())
