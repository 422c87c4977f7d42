"""An event and a log line for every run, without data the user did not allow to be kept."""

import json
import logging
import shlex
from dataclasses import asdict

from skillkit.core.authority import SkillDirectory
from skillkit.core.events import Event, Json, Kind
from skillkit.core.models import Permissions
from skillkit.journal.sensitive import described, sensitive_data_enabled
from skillkit.journal.telemetry import TelemetryWriter, with_spans
from skillkit.scripts.models import ScriptRequest
from skillkit.scripts.payloads import Payload

logger = logging.getLogger("skillkit.scripts")


def record_run(request: ScriptRequest, asked: Permissions, payload: Payload, skills: SkillDirectory) -> None:
    """Record and log a run with its payload and what its skill asked for."""
    with_spans(skills.journal, find=skills.find_skill).record(_run_event(request, asked, payload))
    meta: Payload = payload["meta"]
    code = payload.get("error")
    logger.log(
        logging.INFO if code is None else logging.ERROR,
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


def record_denial(skill: str, script: str, digest: str, reason: str, skills: SkillDirectory) -> None:
    """Record that a script was not allowed to run."""
    with_spans(skills.journal, find=skills.find_skill).record(
        Event(Kind.SCRIPT_DENIED, skill, digest, {"script": script, "reason": reason[:512]})
    )


def trace_refusal(tool: str, skill: str, script: str, code: str, skills: SkillDirectory) -> None:
    """Trace a call that was refused before a script ran; its names may be unknown."""
    data: dict[str, Json] = {"tool": tool, "script": script, "error": code}
    TelemetryWriter(find=skills.find_skill).trace(Event(Kind.SCRIPT_RUN, skill, data=data))


def _run_event(request: ScriptRequest, asked: Permissions, payload: Payload) -> Event:
    """Return the event of a run; arguments and output only as far as they may be kept."""
    meta: Payload = payload["meta"]
    data: dict[str, Json] = {**meta}
    data["script"] = request.script
    data["tool"] = "script_help" if request.arguments == ("--help",) else "script_run"
    data["asked"] = _asked(asked)
    data["limits"] = asdict(request.limits)
    data["arguments"] = described(shlex.join(request.arguments))
    if code := payload.get("error"):
        data["error"] = str(code)
        data["errors"] = described(str(payload.get("message", "")))
    else:
        data["output"] = described(_text(payload.get("result")))
    if files := payload.get("files"):
        data["files"] = [{"name": each["name"], "bytes": each["bytes"]} for each in files]
    return Event(Kind.SCRIPT_RUN, request.skill, request.digest, data)


def _asked(permissions: Permissions) -> dict[str, Json]:
    """Return the permissions a header asks for, in the form of `meta.grants`."""
    return {
        "network": permissions.network,
        "hosts": [*permissions.hosts],
        "env": [*permissions.env],
        **({"secrets": [each.name for each in permissions.secrets]} if permissions.secrets else {}),
        "timeout": permissions.timeout,
    }


def _text(result: object) -> str:
    return result if isinstance(result, str) else json.dumps(result, default=str)[:65_536]


def shown_arguments(request: ScriptRequest) -> str:
    if sensitive_data_enabled():
        return repr(list(request.arguments))
    return f"[{len(request.arguments)} redacted]"
