"""The dialect of MCP: skills of one owner, or of everything that a token may read, as resources."""

import base64
from typing import Any
from urllib.parse import quote, unquote

from starlette.responses import Response

from skillkit._version import __version__
from skillkit.core.limits import KIB
from skillkit.registry.access import Purpose
from skillkit.registry.exceptions import BlockedError, MissingError, RejectedError
from skillkit.registry.server import Ask, Endpoint, json_answer
from skillkit.registry.store import MAX_LISTED, SkillRow, as_json

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
_SCHEME, _MANIFEST, _FILE = "skill://", "_manifest", "SKILL.md"
_NO_METHOD, _INVALID, _NO_RESOURCE = -32601, -32602, -32002


def _answer(ask: Ask) -> Response:
    """Return the response to one JSON-RPC message; there are no sessions."""
    message = ask.document()
    if "id" not in message:  # a notification
        return Response(status_code=202)
    parameters = message.get("params")
    outcome: dict[str, Any]
    try:
        found = _result(ask, str(message.get("method")), parameters if isinstance(parameters, dict) else {})
        outcome = {"result": found} if found is not None else _error(_NO_METHOD, "Method not found")
    except RejectedError as error:
        outcome = _error(_INVALID, str(error))
    except (MissingError, BlockedError) as error:
        outcome = _error(_NO_RESOURCE, str(error))
    return json_answer({"jsonrpc": "2.0", "id": message["id"], **outcome})


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def _result(ask: Ask, method: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        asked = parameters.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"resources": {}},
            "serverInfo": {"name": "skill registry", "version": __version__},
        }
    if method == "ping":
        return {}
    if method == "resources/list":
        return _listed(ask, parameters)
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    if method == "resources/read":
        return {"contents": [_content(ask, ask.text(parameters, "uri"))]}
    return None


def _listed(ask: Ask, parameters: dict[str, Any]) -> dict[str, Any]:
    """List SKILL.md and the manifest of every skill; the manifest names the other files."""
    more = {}
    if owner := ask.path.get("owner"):
        skills = ask.registry.skills_of(ask.caller, owner)
    else:
        cursor = ask.text(parameters, "cursor", "")
        skills = ask.registry.newest(ask.caller, MAX_LISTED, float(cursor) if _is_number(cursor) else None)
        if len(skills) == MAX_LISTED:
            more = {"nextCursor": repr(skills[-1].updated)}
    resources = []
    for skill in skills:
        root = f"{_SCHEME}{_name(ask, skill)}/"
        about = {"description": skill.description}
        resources += [
            {"uri": root + _FILE, "name": f"{skill.title}/{_FILE}", "mimeType": "text/markdown", **about},
            {"uri": root + _MANIFEST, "name": f"{skill.title}/{_MANIFEST}", "mimeType": "application/json"},
        ]
    return {"resources": resources, **more}


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal() and len(text) < 30


def _name(ask: Ask, skill: SkillRow) -> str:
    """Return the name of a skill here; that of its owner is left out below one owner."""
    return skill.name if ask.path.get("owner") else f"{skill.owner_name}.{skill.name}"


def _content(ask: Ask, uri: str) -> dict[str, Any]:
    name, slash, path = unquote(uri.removeprefix(_SCHEME)).partition("/")
    owner, _, skill_name = name.rpartition(".")
    if not uri.startswith(_SCHEME) or not slash:
        raise MissingError
    here = ask.path.get("owner", owner)
    if owner and owner.lower() != here.lower():
        raise MissingError
    skill = ask.registry.skill(ask.caller, skill_name, here or "-")
    if path == _MANIFEST:
        version = ask.registry.version(ask.caller, skill, "", Purpose.FETCH)
        files = [
            {"path": each["path"], "size": each["size"], "hash": f"sha256:{each['sha256']}"}
            for each in version.files
        ]
        text = as_json({"skill": _name(ask, skill), "version": version.number, "files": files})
        return {"uri": uri, "mimeType": "application/json", "text": text}
    _, file = ask.registry.file(ask.caller, skill, "", path)
    if path == _FILE:
        ask.server.count_download(skill)
    address = _SCHEME + quote(f"{name}/{path}")
    try:
        kind = "text/markdown" if path.endswith(".md") else "text/plain"
        return {"uri": address, "mimeType": kind, "text": file.content.decode()}
    except UnicodeDecodeError:
        blob = base64.b64encode(file.content).decode()
        return {"uri": address, "mimeType": "application/octet-stream", "blob": blob}


ENDPOINTS = tuple(Endpoint(path, _answer, "POST", 64 * KIB) for path in ("/mcp", "/mcp/{owner}"))
