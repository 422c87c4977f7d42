"""Events as spans with the names of the emerging convention."""

from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from skillkit import SkillManager
from skillkit.journal import Event, Kind, in_turn
from skillkit.journal.sensitive import described
from skillkit.journal.telemetry import TelemetryWriter


def test_a_run_is_a_span_with_both_vocabularies() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    writer = TelemetryWriter(provider)
    data = {"script": "status.py", "exit_code": 3, "duration_ms": 12.5, "error": "failed"}
    with in_turn("talk", 2):
        writer.record(Event(Kind.SCRIPT_RUN, "pdf", "digest", data))
        writer.record(Event(Kind.MATCHED))
    [span] = exporter.get_finished_spans()
    assert span.name == "skill.script"
    assert span.end_time - span.start_time == 12_500_000
    assert not span.status.is_ok
    assert dict(span.attributes) == {
        "gen_ai.skill.name": "pdf",
        "skill.name": "pdf",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "script_run",
        "gen_ai.conversation.id": "talk",
        "skillkit.skill.digest": "digest",
        "gen_ai.skill.resource.name": "status.py",
        "process.exit.code": 3,
        "skill.execution.duration_ms": 12.5,
        "skill.execution.status": "error",
        "skill.error_type": "failed",
        "skill.script": "status.py",
        "error.type": "failed",
    }


def test_a_skill_that_the_model_loads_is_the_execution_of_a_tool() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    writer = TelemetryWriter(provider)
    for origin in ("loaded", "matched"):
        writer.record(Event(Kind.ACTIVATED, "pdf", data={"origin": origin}))
    loaded, matched = exporter.get_finished_spans()
    assert loaded.attributes["gen_ai.operation.name"] == "execute_tool"
    assert loaded.attributes["gen_ai.tool.name"] == "load_skill"
    assert matched.attributes["gen_ai.skill.name"] == "pdf"
    assert "gen_ai.tool.name" not in matched.attributes


def test_a_span_says_what_the_skill_is_and_where_unless_nobody_knows_it(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    path = tmp_path / "pdf" / "SKILL.md"
    path.parent.mkdir()
    path.write_text("---\nname: pdf\ndescription: Fill in\n  PDF forms.\n---\nDo it.\n")
    manager = SkillManager(project_skill_dir=tmp_path, anthropic_config_dir="")
    manager.discover()
    writer = TelemetryWriter(provider, manager.find_skill)
    for name in ("pdf", "invented"):
        writer.record(Event(Kind.READ, name, data={"path": "a.md"}))
    known, unknown = exporter.get_finished_spans()
    assert known.attributes["gen_ai.skill.description"] == "Fill in PDF forms."
    assert known.attributes["gen_ai.skill.source.uri"] == path.as_uri()
    assert "gen_ai.skill.description" not in unknown.attributes


def test_of_a_text_only_length_and_digest_are_kept_unless_the_user_allows_more() -> None:
    secret = {"A_TOKEN": "hunter22hunter22"}
    kept = described("my hunter22hunter22", secret)
    assert (kept["length"], "text" in kept) == (19, False)
    allowed = described("my hunter22hunter22", {**secret, "ENABLE_SENSITIVE_DATA": "1"})
    assert allowed == {**kept, "text": "my [A_TOKEN]"}
    assert described("my [A_TOKEN]", {})["digest"] == kept["digest"]
