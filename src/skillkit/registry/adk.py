"""The dialect of ADK's `GCPSkillRegistry`: search, and the archive of a skill's latest version."""

from starlette.responses import Response

from skillkit.core.limits import KIB
from skillkit.registry.access import Purpose
from skillkit.registry.exceptions import MissingError, RegistryServerError
from skillkit.registry.server import Ask, Endpoint, json_answer, send_archive

_WORDS = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}


def _error(ask: Ask, error: RegistryServerError) -> Response:
    status = _WORDS.get(error.status, "FAILED_PRECONDITION")
    return json_answer(
        {"error": {"code": error.status, "message": str(error), "status": status}}, error.status
    )


def _place(ask: Ask) -> str:
    return f"projects/{ask.path['project']}/locations/{ask.path['location']}/skills"


def _search(ask: Ask) -> Response:
    text = ask.text(ask.document(), "search_string", "")
    found = ask.registry.search(ask.caller, text, 50)
    skills = [
        {"name": f"{_place(ask)}/{skill.owner_name.lower()}.{skill.name}", "description": skill.description}
        for skill in found
    ]
    return json_answer({"skills": skills})


def _owner_and_name(ask: Ask) -> tuple[str, str]:
    owner, dot, name = str(ask.path["skill"]).rpartition(".")  # a skill's name has no dot
    if not dot:
        raise MissingError
    return owner, name


def _get(ask: Ask) -> Response:
    owner, skill = _owner_and_name(ask)
    latest = ask.registry.version(ask.caller, ask.registry.skill(ask.caller, skill, owner), "", Purpose.LIST)
    name = f"{_place(ask)}/{ask.path['skill']}"
    return json_answer({"name": name, "defaultRevision": f"{name}/revisions/{latest.number}"})


def _revision(ask: Ask) -> Response:
    return send_archive(ask, *_owner_and_name(ask), ask.path["number"])


_SKILLS = "/adk/projects/{project}/locations/{location}/skills"
ENDPOINTS = (
    Endpoint(f"{_SKILLS}:search", _search, "POST", 16 * KIB, refuse=_error),
    Endpoint(f"{_SKILLS}/{{skill}}", _get, refuse=_error),
    Endpoint(f"{_SKILLS}/{{skill}}/revisions/{{number}}", _revision, refuse=_error),
)
