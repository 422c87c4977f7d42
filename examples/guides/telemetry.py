"""Spans and counters of skills in OpenTelemetry, printed as a collector would get them.

python examples/guides/telemetry.py
"""

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from skillkit.integrations import SkillTools

# docs/guides/telemetry.md has the exporters that send to a collector.
spans, counters = InMemorySpanExporter(), InMemoryMetricReader()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracers)
metrics.set_meter_provider(MeterProvider([counters]))


def show() -> None:
    for span in spans.get_finished_spans():
        given = span.attributes or {}
        print(f"{span.name}: {given.get('gen_ai.skill.name')}", given.get("gen_ai.tool.name", ""))
    data = counters.get_metrics_data()
    for resource in data.resource_metrics if data else ():
        for metric in (each for scope in resource.scope_metrics for each in scope.metrics):
            for point in metric.data.data_points:
                print(f"{metric.name} {dict(point.attributes or {})}: {getattr(point, 'value', '')}")


if __name__ == "__main__":
    skills = SkillTools("examples/skills")
    skills.request([{"role": "user", "content": "Write release notes."}])
    skills.call_blocking("load_skill", {"skill_id": "csv-report"})
    skills.call_blocking("read_skill_resource", {"skill_id": "csv-report", "path": "references/report.md"})
    show()
