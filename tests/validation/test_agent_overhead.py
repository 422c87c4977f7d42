"""What the agent sends before the first message, counted by an exact tokenizer in the requests it makes."""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Recorded, Say

import skillkit
from skillkit.disclosure import EncodingCounter

BUNDLED = Path(skillkit.__file__).parent / "bundled"
BOTH = "hello-extended,kalshi-markets"
IRRELEVANT, GREETING = "What is 2+2?", "Say bonjour to Alice"

Ask = Callable[..., Recorded]


@pytest.fixture(scope="module")
def counter() -> EncodingCounter:
    return EncodingCounter.named("o200k_base")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def ask(server: OpenAIServer, run_agent) -> Ask:
    """Put a request to the real program; the first request that it makes of the model."""

    def call(request: str, skills: str = "") -> Recorded:
        before = len(server.requests)
        done = run_agent(
            "-p", request, AGENT_SKILLS=skills, OPENAI_API_KEY="sk-test-1234", OPENAI_BASE_URL=server.url
        )
        assert done.returncode == 0, done.stderr
        return server.requests[before]

    return call


def overhead(request: Recorded, counter: EncodingCounter) -> int:
    """Everything but what was said: instructions and the definitions of tools."""
    return counter.count(request.system) + counter.count(json.dumps(request.body["tools"]))


@pytest.mark.parametrize(("skills", "most"), [("", 500), ("kalshi-markets", 1200), (BOTH, 1400)])
def test_instructions_and_tools_together_stay_below_the_promise(
    ask: Ask, counter: EncodingCounter, skills: str, most: int
) -> None:
    request = ask(IRRELEVANT, skills)
    assert request.tools, "there would be nothing to count"
    assert overhead(request, counter) < most


@pytest.mark.parametrize(("skills", "most"), [("", 300), (BOTH, 600)])
def test_instructions_alone_stay_small(ask: Ask, counter: EncodingCounter, skills: str, most: int) -> None:
    system = ask(IRRELEVANT, skills).system
    assert ("## Agent Skills" in system) is bool(skills)
    assert counter.count(system) <= most


def test_an_active_skill_with_tools_and_scripts_costs_little_more(ask: Ask, counter: EncodingCounter) -> None:
    request = ask(GREETING, BOTH)
    assert {"greet_in_language", "script_run"} <= set(request.tools)
    assert overhead(request, counter) < 1500


def test_the_text_of_a_skill_is_sent_once_it_is_active_and_not_before(ask: Ask) -> None:
    texts = {path.parent.name: path.read_text("utf-8") for path in BUNDLED.glob("*/SKILL.md")}
    bodies = {name: text.split("\n---\n", 1)[1].strip() for name, text in texts.items()}
    irrelevant, greeting = ask(IRRELEVANT, BOTH), ask(GREETING, BOTH)
    for paragraph in paragraphs(bodies["hello-extended"]):
        assert paragraph not in json.dumps(irrelevant.body, ensure_ascii=False)
        assert paragraph in greeting.given
    for paragraph in paragraphs(bodies["kalshi-markets"]):
        assert paragraph not in irrelevant.given + greeting.given


def test_no_line_of_a_script_is_in_any_request(ask: Ask, server: OpenAIServer) -> None:
    greet = {"skill_name": "hello-extended", "script_name": "advanced_greeting"}
    server.replies = [
        CallTool("script_list", {"skill_name": "hello-extended"}),
        CallTool("script_help", greet),
        CallTool("script_run", {**greet, "args": ["--name", "Ada"]}),
        CallTool("load_skill", {"skill_id": "kalshi-markets"}),
        CallTool("script_list", {"skill_name": "kalshi-markets"}),
        Say("done"),
    ]
    ask(GREETING, BOTH)
    assert len(server.requests) == 6
    assert '"success": true' in server.requests[3].spoken[-1][1]
    sent = "\n".join(text for request in server.requests for text in [request.system, *said(request)])
    code = {line for script in BUNDLED.glob("*/scripts/*.py") for line in statements(script)}
    assert len(code) > 80
    assert [line for line in code if line in sent] == []


def paragraphs(text: str) -> list[str]:
    """Parts that survive any wrapping, long enough to be nobody else's."""
    return [line for line in text.splitlines() if len(line) > 40]


def said(request: Recorded) -> list[str]:
    return [text for _, text in request.spoken]


def statements(script: Path) -> Iterator[str]:
    """The lines of code that stand for themselves; what --help prints is not code."""
    source = script.read_text("utf-8")
    strings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if number not in strings and len(text) > 30 and not text.startswith("#"):
            yield text
