"""Without skills the agent is what it was, and the user's wishes about skills reach the request."""

from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say


@pytest.fixture(params=["unset", "empty", "none", "an empty folder"])
def bare(request, home: Path, online: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The agent where no skill is loaded, in every way there is."""
    match request.param:
        case "unset":
            monkeypatch.delenv("AGENT_SKILLS")
        case "empty":
            monkeypatch.setenv("AGENT_SKILLS", "")
        case "none":
            monkeypatch.setenv("AGENT_SKILLS", "none")
        case "an empty folder":
            (home / "skills").mkdir(parents=True)
            monkeypatch.delenv("AGENT_SKILLS")
    return online


def test_it_answers_and_the_request_knows_nothing_of_skills(agent, bare: OpenAIServer) -> None:
    done = agent("-p", "What is 2+2?")
    assert (done.code, done.stdout, done.stderr) == (0, "OK\n", "")
    (request,) = bare.requests
    for of_skills in (
        "## Agent Skills",
        "<skill_context",
        "load_skill",
        "hello-extended",
    ):
        assert of_skills not in request.given
    assert {"greet_user", "hello_world"} <= set(request.tools)
    assert not [tool for tool in request.tools if "skill" in tool or tool.startswith("script_")]


def test_its_own_tools_go_on_working(agent, bare: OpenAIServer) -> None:
    bare.replies = [
        CallTool("greet_user", {"name": "Alice", "language": "fr"}),
        CallTool("hello_world", {}),
        Say("Done."),
    ]
    assert agent("-p", "Say hello").stdout == "Done.\n"
    said = "\n".join(text for _, text in bare.requests[-1].spoken)
    assert "Bonjour, Alice !" in said
    assert "Hello, World!" in said


@pytest.fixture
def zoo(home: Path, online: OpenAIServer, write_skill, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """Five skills that all wait for a zebra, in the user's own folder."""
    for number in range(5):
        write_skill(f"zoo-{number}", f"Feed animal {number}.", triggers="[zebra]", into=home / "skills")
    write_skill("quiet", description="Paints pictures of mountains", into=home / "skills")
    monkeypatch.setenv("AGENT_SKILLS", "all")
    monkeypatch.setenv("SKILL_MATCHING_MODE", "keyword")
    return online


@pytest.mark.parametrize(("setting", "count"), [(None, 3), ("1", 1), ("5", 5)])
def test_the_number_of_skills_in_a_request_can_be_set(
    agent, zoo: OpenAIServer, monkeypatch: pytest.MonkeyPatch, setting: str | None, count: int
) -> None:
    if setting is not None:
        monkeypatch.setenv("SKILL_MAX_PER_REQUEST", setting)
    agent("-p", "zebra")
    assert zoo.requests[-1].given.count("<skill_context ") == count


@pytest.mark.parametrize(
    ("mode", "said"),
    [("none", False), ("show_all", "No skill matched this request by itself.")],
)
def test_what_happens_when_nothing_matches_can_be_set(
    agent, zoo: OpenAIServer, monkeypatch: pytest.MonkeyPatch, mode: str, said: str | bool
) -> None:
    monkeypatch.setenv("SKILL_FALLBACK_MODE", mode)
    agent("-p", "What is 2+2?")
    assert "<skill_context " not in zoo.requests[-1].given
    assert (str(said) in zoo.requests[-1].given) is bool(said)


@pytest.mark.parametrize(("mode", "matched"), [("keyword", 0), ("lexical", 1), ("hybrid", 1)])
def test_how_requests_are_matched_can_be_set(
    agent, zoo: OpenAIServer, monkeypatch: pytest.MonkeyPatch, mode: str, matched: int
) -> None:
    if mode == "hybrid":
        pytest.importorskip("tokenizers")
    monkeypatch.setenv("SKILL_MATCHING_MODE", mode)
    agent("-p", "Paint a picture of the mountains")
    assert zoo.requests[-1].given.count('<skill_context id="quiet">') == matched


@pytest.mark.parametrize(("threshold", "matched"), [("0.4", 1), ("0.9999", 0)])
def test_how_sure_matching_must_be_can_be_set(
    agent, zoo: OpenAIServer, monkeypatch: pytest.MonkeyPatch, threshold: str, matched: int
) -> None:
    monkeypatch.setenv("SKILL_MATCHING_MODE", "lexical")
    monkeypatch.setenv("SKILL_MATCHING_THRESHOLD", threshold)
    agent("-p", "Paint a picture of the mountains")
    assert zoo.requests[-1].given.count('<skill_context id="quiet">') == matched
