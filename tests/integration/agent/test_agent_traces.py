"""What a request costs is written down; secrets are not; nothing heavy is loaded before it is needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from skillkit.journal import JournalReader, Kind
from skillkit.journal.sensitive import redacted


def log_of(home: Path) -> list[dict]:
    (path,) = (home / "logs").glob("session-*-trace.log")
    assert path.stat().st_mode & 0o077 == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_model_request_is_a_line_with_its_tokens(agent, home, online, monkeypatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "trace")
    online.replies = [CallTool("list_languages", {}), Say("Many.", usage=False)]
    agent("-p", "Greet people in which languages?")
    first, tool, second = log_of(home)
    assert (first["kind"], tool["kind"], tool["name"]) == ("model", "tool", "list_languages")
    assert first["tokens"]["total"] == 123
    assert first["tokens"]["estimated"] is False
    assert second["tokens"]["estimated"] is True
    parts = [second["tokens"][part] for part in ("system", "skills", "tools", "messages")]
    assert all(parts)
    assert sum(parts) == second["tokens"]["total"]
    assert "arguments" not in first
    events = [stored.event for stored in JournalReader(home / "journal.sqlite").oldest_first()]
    asked = [event.data["tokens"] for event in events if event.kind is Kind.MODEL_CALLED]
    assert asked == [first["tokens"], second["tokens"]]
    assert len({(event.conversation, event.turn) for event in events}) == 1


def test_a_request_whose_answer_was_cut_counts_as_far_as_it_came(agent, home, online, monkeypatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "trace")
    online.chunked = True  # the connection is lost at the end
    online.replies = [Say("one two three four", finish=None)]
    assert agent("-p", "Count").code == 5
    (cut,) = log_of(home)
    assert cut["tokens"]["output"] >= 4
    assert cut["tokens"]["estimated"] is True


def test_an_irrelevant_request_has_fewer_tokens_in_the_log(agent, home, online, monkeypatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "trace")
    online.replies = [Say("4", usage=False)]
    agent("-p", "What is 2+2?")
    irrelevant = log_of(home)[0]["tokens"]
    next((home / "logs").iterdir()).unlink()
    online.replies = [Say("Bonjour", usage=False)]
    agent("-p", "Say bonjour to Alice")
    relevant = log_of(home)[0]["tokens"]
    assert irrelevant["total"] < relevant["total"]
    assert irrelevant["skills"] < relevant["skills"]


def test_the_text_of_a_skill_that_matched_is_in_the_log(agent, home, online, monkeypatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "trace")
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true")
    agent("-p", "Say bonjour to Alice")
    assert '<skill_context id="hello-extended">' in log_of(home)[0]["instructions"]


def test_contents_are_logged_only_when_asked_and_never_a_secret(agent, home, online, monkeypatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "trace")
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true")
    key = os.environ["OPENAI_API_KEY"]
    online.replies = [CallTool("greet_in_language", {"name": key}), Say("done")]
    agent("-p", "Say bonjour")
    text = next((home / "logs").iterdir()).read_text()
    assert "greet_in_language" in text
    assert key not in text
    assert redacted("x hunter2hunter2", {"MY_TOKEN": "hunter2hunter2"}) == "x [MY_TOKEN]"


def test_without_trace_nothing_is_logged(agent, home, online) -> None:
    agent("-p", "What is 2+2?")
    assert not (home / "logs").exists()


def test_activations_are_spans(agent, online: OpenAIServer) -> None:
    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    processor = SimpleSpanProcessor(exporter)
    provider.add_span_processor(processor)
    online.replies = [CallTool("load_skill", {"skill_id": "kalshi-markets"}), Say("done")]
    agent("-p", "Say bonjour to Alice")
    finished = exporter.get_finished_spans()
    spans = {(span.name, (span.attributes or {}).get("skill.name")) for span in finished}
    exporter.shutdown()
    (loaded,) = [dict(span.attributes or {}) for span in finished if span.name == "skill.load"]
    names = ("hello-extended", "kalshi-markets")
    assert loaded == {"skill.names": names, "skill.count": 2, "skill.found": 3}
    assert ("skill.load", None) in spans
    assert ("skill.activate", "hello-extended") in spans
    assert ("skill.activate", "kalshi-markets") in spans


@pytest.mark.parametrize("arguments", [["--check"], ["config", "show"], ["session", "list"], ["--help"]])
def test_neither_framework_nor_model_is_loaded_before_a_turn(home: Path, arguments: list[str]) -> None:
    program = (
        "import sys\nfrom skillkit.agent.cli.app import app\nfrom skillkit.agent.cli.outcome import run\n"
        f"code = run(app, {arguments!r})\n"
        "heavy = {'agent_framework', 'xllamacpp', 'openai', 'httpx'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
