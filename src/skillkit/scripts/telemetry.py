"""A span and a log line for every run, with nothing in them that the user did not allow to be kept."""

import contextlib
import json
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from skillkit.core.events import NO_JOURNAL, Event, Json, Kind, Writer
from skillkit.journal.sensitive import described, sensitive_data_enabled
from skillkit.scripts.models import ScriptRequest
from skillkit.scripts.payloads import Payload

if TYPE_CHECKING:
    from opentelemetry.trace import Span

logger = logging.getLogger("skillkit.scripts")


class ScriptSpan:
    """The observation of one run; without OpenTelemetry only the log line remains."""

    def __init__(self, request: ScriptRequest, span: "Span | None", journal: Writer) -> None:
        self._request = request
        self._span = span
        self._journal = journal

    def finish(self, payload: Payload) -> None:
        """Record what `payload` says of itself."""
        meta: Payload = payload["meta"]
        code = payload.get("error")
        request = self._request
        if self._span is not None:
            status = "success" if code is None else "timeout" if code == "timeout" else "error"
            self._span.set_attributes(
                {
                    "skill.execution.duration_ms": meta["duration_ms"],
                    "skill.execution.status": status,
                    "skill.stdout_bytes": meta["stdout_bytes"],
                    "skill.stderr_bytes": meta["stderr_bytes"],
                    "skill.sandbox": meta["backend"],
                }
            )
            if code is not None:
                self._span.set_attribute("skill.error_type", code)
        self._journal.record(_run_event(request, payload))
        level = logging.INFO if code is None else logging.ERROR
        logger.log(
            level,
            "Script %s of skill '%s' %s in %.0f ms (sandbox %s, exit code %s, %d + %d bytes, arguments %s)",
            request.script,
            request.skill,
            "succeeded" if code is None else f"failed: {code}",
            meta["duration_ms"],
            meta["backend"],
            meta["exit_code"],
            meta["stdout_bytes"],
            meta["stderr_bytes"],
            shown_arguments(request),
        )


def _run_event(request: ScriptRequest, payload: Payload) -> Event:
    """Return what became of a run; what it was given and what it said only as far as that may be kept."""
    meta: Payload = payload["meta"]
    data: dict[str, Json] = {name: _plain(value) for name, value in meta.items()}
    data["script"] = request.script
    data["arguments"] = described("\0".join(request.arguments))
    if code := payload.get("error"):
        data["error"] = str(code)
        data["errors"] = described(str(payload.get("message", "")))
    else:
        data["output"] = described(_text(payload.get("result")))
    return Event(Kind.SCRIPT_RUN, request.skill, request.digest, data)


def _plain(value: object) -> Json:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return str(value)


def _text(result: object) -> str:
    return result if isinstance(result, str) else json.dumps(result, default=str)[:65_536]


def shown_arguments(request: ScriptRequest) -> str:
    if sensitive_data_enabled():
        return repr(list(request.arguments))
    return f"[{len(request.arguments)} redacted]"


@contextlib.contextmanager
def script_span(request: ScriptRequest, journal: Writer = NO_JOURNAL) -> Iterator[ScriptSpan]:
    try:
        from opentelemetry import trace
    except ImportError:
        yield ScriptSpan(request, None, journal)
        return
    with trace.get_tracer("skillkit.scripts").start_as_current_span("skill.script") as span:
        names = {"skill.name": request.skill, "skill.script": request.script}
        emerging = {"gen_ai.skill.name": request.skill, "gen_ai.skill.resource.name": request.script}
        span.set_attributes({**names, **emerging})
        if sensitive_data_enabled():
            span.set_attribute("skill.arguments", list(request.arguments))
        yield ScriptSpan(request, span, journal)
