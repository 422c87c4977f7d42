"""Every run leaves a span and log lines, and arguments stay out of both."""

import logging

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@pytest.fixture(scope="module")
def spans():
    """What is traced from now on; a process has one provider, which another test may have set."""
    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


def runs(spans):
    return [span for span in spans.get_finished_spans() if span.name == "skill.script"]


def test_every_run_leaves_a_span_with_its_attributes(workshop, spans):
    spans.clear()
    workshop.skill("demo", good_py="print(1)", bad_py="import sys; sys.exit('oh')")
    tools = workshop.tools()
    tools.script_run("demo", "good", ["argument"])
    tools.script_run("demo", "bad")
    good, bad = runs(spans)
    attributes = dict(good.attributes)
    assert attributes.pop("skill.execution.duration_ms") > 0
    assert attributes.pop("skill.sandbox") in ("bwrap", "landlock")
    assert attributes.pop("skillkit.skill.digest")
    assert attributes.pop("gen_ai.skill.source.uri").endswith("/demo/SKILL.md")
    assert attributes == {
        "skill.name": "demo",
        "gen_ai.skill.description": "Does demo",
        "gen_ai.skill.name": "demo",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "script_run",
        "process.exit.code": 0,
        "gen_ai.skill.resource.name": "scripts/good.py",
        "skill.script": "scripts/good.py",
        "skill.execution.status": "success",
        "skill.stdout_bytes": 2,
        "skill.stderr_bytes": 0,
    }
    assert bad.attributes["skill.execution.status"] == "error"
    assert bad.attributes["skill.error_type"] == "execution_failed"


def test_help_is_recorded_as_help(workshop, spans):
    spans.clear()
    workshop.skill("demo", good_py="import argparse; argparse.ArgumentParser().parse_args()")
    assert workshop.tools().script_help("demo", "good")["success"]
    (helped,) = runs(spans)
    assert helped.attributes["gen_ai.tool.name"] == "script_help"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (("gone", "good"), "not_found"),
        (("demo", "gone"), "not_found"),
        (("demo", "../good"), "invalid_name"),
        (("demo", "good", ["x"] * 101), "args_too_large"),
    ],
)
def test_a_run_that_is_refused_before_it_starts_leaves_a_span(workshop, spans, call, code):
    spans.clear()
    workshop.skill("demo", good_py="print(1)")
    assert workshop.tools().script_run(*call)["error"] == code
    (refused,) = runs(spans)
    assert refused.attributes["gen_ai.tool.name"] == "script_run"
    assert (refused.attributes["skill.name"], refused.attributes["skill.script"]) == call[:2]
    assert refused.attributes["skill.error_type"] == refused.attributes["error.type"] == code
    assert refused.attributes["skill.execution.status"] == "error"


def test_finding_skills_is_a_span_of_the_library(workshop, spans):
    workshop.skill("demo", good_py="print(1)")
    spans.clear()
    workshop.manager()
    (loaded,) = spans.get_finished_spans()
    assert loaded.name == "skill.load"
    assert loaded.attributes == {"skill.names": ("demo",), "skill.count": 1, "skill.found": 1}


@pytest.mark.parametrize("allowed", [False, True])
def test_arguments_stay_out_of_logs_and_spans_unless_allowed(workshop, spans, caplog, monkeypatch, allowed):
    spans.clear()
    caplog.set_level(logging.INFO, "skillkit.scripts")
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true" if allowed else "")
    workshop.skill("demo", good_py="print(1)", bad_py="import sys; sys.exit('s3cret on stderr')")
    tools = workshop.tools()
    tools.script_run("demo", "good", ["s3cret"])
    tools.script_run("demo", "bad", ["s3cret"])
    lines = [record for record in caplog.records if record.name == "skillkit.scripts"]
    assert [record.levelname for record in lines] == ["INFO", "ERROR"]
    assert "Script scripts/good.py of skill 'demo' succeeded" in lines[0].getMessage()
    assert "failed: execution_failed" in lines[1].getMessage()
    assert ("s3cret" in caplog.text) is allowed
    attributes = [span.attributes.get("skill.arguments") for span in runs(spans)]
    assert attributes == (["s3cret"] * 2 if allowed else [None, None])


def test_without_opentelemetry_only_the_span_is_missing(workshop, monkeypatch, caplog):
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    caplog.set_level(logging.INFO, "skillkit.scripts")
    workshop.skill("demo", good_py="print(1)")
    assert workshop.tools().script_run("demo", "good")["success"]
    assert "succeeded" in caplog.text
