"""A span and a log line for every run, with nothing in them that the user did not allow to be kept."""

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from skillkit.journal.sensitive import sensitive_data_enabled
from skillkit.scripts.models import ScriptRequest
from skillkit.scripts.payloads import Payload

if TYPE_CHECKING:
    from opentelemetry.trace import Span

logger = logging.getLogger("skillkit.scripts")


class ScriptSpan:
    """The observation of one run; without OpenTelemetry only the log line remains."""

    def __init__(self, request: ScriptRequest, span: "Span | None") -> None:
        self._request = request
        self._span = span

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


def shown_arguments(request: ScriptRequest) -> str:
    if sensitive_data_enabled():
        return repr(list(request.arguments))
    return f"[{len(request.arguments)} redacted]"


@contextlib.contextmanager
def script_span(request: ScriptRequest) -> Iterator[ScriptSpan]:
    try:
        from opentelemetry import trace
    except ImportError:
        yield ScriptSpan(request, None)
        return
    with trace.get_tracer("skillkit.scripts").start_as_current_span("skill.script") as span:
        span.set_attributes({"skill.name": request.skill, "skill.script": request.script})
        if sensitive_data_enabled():
            span.set_attribute("skill.arguments", list(request.arguments))
        yield ScriptSpan(request, span)
