"""The payload of a call: success with a result, or an error with a code, and how the run went."""

import re
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.core.text import strip_hidden
from skillkit.scripts.hints import find_hint
from skillkit.scripts.models import Captured, Outcome, ScriptRequest, ScriptResult

Payload = dict[str, Any]

TAIL = 500
_SHOWN = 200
_HELP = frozenset({"--help", "-h"})
_CODES = {
    Outcome.TIMEOUT: "timeout",
    Outcome.REFUSED: "permission_denied",
    Outcome.DEPENDENCY: "dependency_failed",
}
"""All others are `execution_failed`."""
# Sequences that move the cursor, recolour, retitle or link; anything left of them is a control character.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_USAGE = re.compile(rb"^[^\n]{0,300}\busage:|^[ \t]*usage[ \t]*$", re.IGNORECASE | re.MULTILINE)
_TRACE = b"Traceback (most recent call last)"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def success(result: object, message: str, meta: Payload | None = None) -> Payload:
    payload: Payload = {"success": True, "result": result, "message": message}
    return payload if meta is None else {**payload, "meta": meta}


def failure(code: str, message: str, meta: Payload | None = None) -> Payload:
    payload: Payload = {"success": False, "error": code, "message": message}
    return payload if meta is None else {**payload, "meta": meta}


def run_meta(request: ScriptRequest, result: ScriptResult) -> Payload:
    """How the run went and what it was granted."""
    return {
        "backend": result.backend,
        "duration_ms": round(result.duration_ms, 1),
        "memory_bytes": result.memory,
        "exit_code": result.exit_code,
        "stdout_bytes": result.stdout.total,
        "stderr_bytes": result.stderr.total,
        "truncated": result.stdout.truncated or result.stderr.truncated,
        **_network(request, result),
        "grants": {
            "network": request.network,
            "hosts": [*request.hosts, *request.private_hosts],
            "env": sorted(request.environment),
            **({"secrets": sorted(each.name for each in request.secrets)} if request.secrets else {}),
            "read": [str(request.base_dir), *map(str, request.read_paths)],
            "write": [*map(str, request.write_paths)],
            **({"inputs": {each.name: str(each.path) for each in request.inputs}} if request.inputs else {}),
            **({"project": str(request.project)} if request.project is not None else {}),
            "timeout": request.limits.timeout,
        },
    }


def _network(request: ScriptRequest, result: ScriptResult) -> Payload:
    """Attempted hosts, if hosts were granted by name."""
    if not (result.network or request.hosts or request.private_hosts or request.secrets):
        return {}
    shown = [attempt.to_data() for attempt in result.network[:_SHOWN]]
    left = len(result.network) - len(shown)
    return {"network": shown, "network_left_out": left} if left else {"network": shown}


def run_payload(name: str, request: ScriptRequest, result: ScriptResult, *, as_json: bool | None) -> Payload:
    """Return the payload of `script_run`; with `as_json` None, the document if there is one, else text."""
    meta = run_meta(request, result)
    if (failed := _failed(request, result, meta)) is not None:
        return {**failed, **_parsed_failure(result)} if as_json is not False else failed
    stdout = result.stdout
    warning = _truncation(stdout)
    stderr = _tail("stderr", result.stderr)
    text = success(plain_text(stdout.data), f"Executed {name} script{warning}", meta)
    if as_json is False or (as_json is None and stdout.truncated):
        return text
    if stdout.truncated:
        return failure("parse_error", f"Expected JSON output, but it is incomplete{warning}{stderr}", meta)
    try:
        parsed = _document(stdout.data)
    except ValueError:
        if as_json is None or _HELP & {*request.arguments}:  # the help of a command is text
            return text
        shown = plain_text(stdout.head[: 4 * _SHOWN])[:_SHOWN].rstrip()
        return failure("parse_error", f"Expected JSON output, got: {shown}{stderr}", meta)
    return success(parsed, f"Executed {name} script", meta)


def help_payload(name: str, request: ScriptRequest, result: ScriptResult) -> Payload:
    """Return the payload of `script_help`; output of a failed run is used if it has a line with `usage:`."""
    meta = run_meta(request, result)
    failed = _failed(request, result, meta)
    said = result.stdout if result.stdout.total else result.stderr
    if failed is not None:
        if (told := _told_usage(result)) is None:
            return failed
        said = told
    text = plain_text(said.data).strip()
    ended = f" (it ended with exit code {result.exit_code})" if result.exit_code else ""
    ended = " (it did not end by itself)" if result.outcome is Outcome.TIMEOUT else ended
    message = f"Retrieved help for {name}{ended}{_truncation(said)}"
    return success({"help_text": text, "usage": usage_line(text)}, message, meta)


def _document(data: bytes) -> object:
    """One JSON document of UTF-8; ValueError if it is anything else."""
    text = data.decode("utf-8-sig", "replace")
    parsed = parse_json(text, parse_constant=_no_constant)
    return _encodable(parsed) if _ESCAPED_SURROGATE.search(text) else parsed


def plain_text(data: bytes) -> str:
    """Return output as displayable text: UTF-8 with replacement, without terminal control sequences."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return strip_hidden(_TERMINAL.sub("", text))


def _failed(request: ScriptRequest, result: ScriptResult, meta: Payload) -> Payload | None:
    if result.outcome is Outcome.EXITED:
        if result.exit_code == 0:
            return None
        message = f"Script failed with exit code {result.exit_code}"
        hint = find_hint(result, request)
        text = "" if hint is None else f"\n{hint.text}"
        failed = failure("execution_failed", f"{message}{_tails(result)}{text}", meta)
        return failed if hint is None else {**failed, "cause": hint.cause, "subject": hint.subject}
    return failure(_CODES.get(result.outcome, "execution_failed"), f"{result.message}{_tails(result)}", meta)


def _told_usage(result: ScriptResult) -> Captured | None:
    """Return the stream in which a script that fails, or does not end, prints its usage."""
    if result.outcome not in (Outcome.EXITED, Outcome.TIMEOUT):
        return None
    streams = (result.stdout, result.stderr)
    return next((each for each in streams if _USAGE.search(each.data) and _TRACE not in each.data), None)


def _parsed_failure(result: ScriptResult) -> Payload:
    """Return the JSON output of a failed script as its result: it often has the reason."""
    if result.stdout.truncated or not result.stdout.total:
        return {}
    try:
        return {"result": _document(result.stdout.data)}
    except ValueError:
        return {}


def _tails(result: ScriptResult) -> str:
    """Return the tails of both streams: scripts report failures on either."""
    return _tail("stderr", result.stderr) + _tail("stdout", result.stdout)


def _tail(name: str, captured: Captured) -> str:
    tail = plain_text(captured.ending(TAIL)).strip()
    return f"\n{name}: {tail}" if tail else ""


def _truncation(captured: Captured) -> str:
    if not captured.truncated:
        return ""
    kept = len(captured.head) + len(captured.tail)
    return f"\nWarning: output truncated: {captured.total} bytes printed, {kept} kept"


def usage_line(text: str) -> str:
    """The paragraph that begins with `usage`, or the first line."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.strip().lower().startswith("usage"):
            wanted = lines[number:]
            break
    else:
        return lines[0] if lines else ""
    end = next((number for number, line in enumerate(wanted) if not line.strip()), len(wanted))
    return "\n".join(wanted[:end])


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _encodable(value: object) -> object:
    """The same value without lone surrogates, which no later encoder would accept."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value


def command_output(result: ScriptResult) -> tuple[bool, str]:
    """Return whether a command in instructions ran to its end, and what it printed or why it did not."""
    said = strip_hidden((result.stdout.data + result.stderr.data).decode("utf-8", "replace")).strip()
    if result.outcome is not Outcome.EXITED:
        return False, result.message or result.outcome.value
    if result.exit_code and result.exit_code > 1:  # grep and similar programs exit with 1 if nothing matches
        return False, f"it ended with exit code {result.exit_code}: {said[-500:]}"
    return True, said
