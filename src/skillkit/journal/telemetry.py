"""The same events as OpenTelemetry spans and counters, for those who have a collector."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from skillkit.core.events import Event, Json, Kind, Writer, current_turn
from skillkit.core.models import SkillMetadata
from skillkit.core.text import one_line

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter
    from opentelemetry.trace import Tracer, TracerProvider

FindSkill = Callable[[str], SkillMetadata | None]
"""Return a skill by its id; None if unknown."""

_SPANS = {
    Kind.ACTIVATED: ("skill.activate", None),
    Kind.SCRIPT_RUN: ("skill.script", "script_run"),
    Kind.READ: ("skill.read", "read_skill_resource"),
    Kind.TOOLSET_CALLED: ("skill.toolset", None),
}
"""The span of an event, and its tool where the event names none."""
_NAMES = {
    "exit_code": "process.exit.code",
    "duration_ms": "skill.execution.duration_ms",
    "stdout_bytes": "skill.stdout_bytes",
    "stderr_bytes": "skill.stderr_bytes",
    "backend": "skill.sandbox",
    "script": "skill.script",
    "error": "skill.error_type",
    "origin": "skill.origin",
    "tokens": "skillkit.tokens",
}
_MAX_DESCRIPTION = 1024


class TelemetryWriter:
    """Sends events to OpenTelemetry if it is installed."""

    def __init__(self, provider: "TracerProvider | None" = None, find: FindSkill | None = None) -> None:
        """`provider` replaces the program's global one; `find` describes skills."""
        self._instruments = _instruments(provider)
        self._find = find

    def record(self, event: Event) -> None:
        """Count an event and create its span, if its kind has one."""
        if self._instruments is not None:
            counter = self._instruments[1]
            counter.add(1, {"skillkit.event": event.kind.value, "gen_ai.skill.name": event.skill})
            self.trace(event)

    def trace(self, event: Event) -> None:
        """Create the span of an event, with a description of its skill."""
        if self._instruments is None or event.kind not in _SPANS:
            return
        name, tool = _SPANS[event.kind]
        tracer = self._instruments[0]
        duration = event.data.get("duration_ms")
        length = int(duration * 1e6) if isinstance(duration, int | float) else 0
        end = time.time_ns()
        attributes = _attributes(event, tool)
        if self._find is not None and (skill := self._find(event.skill)) is not None:
            attributes["gen_ai.skill.description"] = one_line(skill.description)[:_MAX_DESCRIPTION]
            attributes["gen_ai.skill.source.uri"] = skill.skill_path.absolute().as_uri()
        span = tracer.start_span(name, start_time=end - length, attributes=attributes)
        if error := event.data.get("error"):
            from opentelemetry.trace import Status, StatusCode

            span.set_attribute("error.type", str(error))
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)

    def close(self) -> None:
        """Do nothing: the collector's own shutdown sends pending spans."""


class Writers:
    """Several writers as one."""

    def __init__(self, writers: Sequence[Writer]) -> None:
        self._writers = tuple(writers)

    def record(self, event: Event) -> None:
        for writer in self._writers:
            writer.record(event)

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


@cache
def _instruments(provider: "TracerProvider | None") -> "tuple[Tracer, Counter] | None":
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return None
    counter = metrics.get_meter("skillkit").create_counter(
        "skillkit.skill.events", description="Skill events, by kind and skill."
    )
    return trace.get_tracer("skillkit", tracer_provider=provider), counter


def with_spans(*writers: Writer, find: FindSkill) -> Writers:
    """Return `writers` and, where OpenTelemetry is installed, its spans as one writer."""
    return Writers((*writers, TelemetryWriter(find=find)))


def _attributes(event: Event, usual_tool: str | None) -> dict[str, str | int | float]:
    """Return attributes under the names of the emerging convention and under the earlier ones."""
    attributes: dict[str, str | int | float] = {"gen_ai.skill.name": event.skill, "skill.name": event.skill}
    loaded = event.kind is Kind.ACTIVATED and event.data.get("origin") == "loaded"
    if tool := "load_skill" if loaded else event.data.get("tool") or usual_tool:
        attributes["gen_ai.operation.name"] = "execute_tool"
        attributes["gen_ai.tool.name"] = str(tool)
    if conversation := event.conversation or current_turn().conversation:
        attributes["gen_ai.conversation.id"] = conversation
    if event.digest:
        attributes["skillkit.skill.digest"] = event.digest
    resource = event.data.get("path") or event.data.get("script")
    if isinstance(resource, str):
        attributes["gen_ai.skill.resource.name"] = resource
    for name, attribute in _NAMES.items():
        value: Json = event.data.get(name)
        if isinstance(value, int | float | str):
            attributes[attribute] = value
    if event.kind is Kind.SCRIPT_RUN:
        error = event.data.get("error")
        attributes["skill.execution.status"] = (
            "success" if error is None else "timeout" if error == "timeout" else "error"
        )
    match event.data.get("arguments"):
        case {"text": str(arguments)}:
            attributes["skill.arguments"] = arguments
    return attributes
