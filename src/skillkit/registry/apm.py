"""The dialect of apm: versions with digests, archives, publishing a package; the client resolves ranges."""

from datetime import UTC, datetime
from http import HTTPStatus

from starlette.responses import JSONResponse, Response

from skillkit.core.limits import DOWNLOAD_BYTES
from skillkit.registry.access import Purpose, State
from skillkit.registry.exceptions import RegistryServerError, TooManyError
from skillkit.registry.server import Ask, Endpoint, json_answer, send_archive
from skillkit.registry.store import VersionRow


def _problem(ask: Ask, error: RegistryServerError) -> Response:
    """Return an error as RFC 9457 problem details; the client shows title and detail."""
    headers = {"retry-after": str(error.seconds)} if isinstance(error, TooManyError) else None
    content = {"title": HTTPStatus(error.status).phrase, "detail": str(error), "status": error.status}
    return JSONResponse(content, error.status, headers, "application/problem+json")


def _entry(version: VersionRow) -> dict[str, str]:
    entry = {"version": version.number, "digest": f"sha256:{version.zip}"}
    if version.published is None:
        return entry
    published = datetime.fromtimestamp(version.published, UTC).isoformat(timespec="seconds")
    return {**entry, "published_at": published.replace("+00:00", "Z")}


def _versions(ask: Ask) -> Response:
    skill = ask.registry.skill(ask.caller, ask.path["skill"], ask.path["owner"])
    versions = ask.registry.versions(ask.caller, skill, Purpose.LIST)
    return json_answer({"package": skill.title, "versions": [_entry(version) for version in versions]})


def _download(ask: Ask) -> Response:
    return send_archive(ask, ask.path["owner"], ask.path["skill"], ask.path["number"])


def _publish(ask: Ask) -> Response:
    owner, name = ask.path["owner"], ask.path["skill"]
    found = ask.server.publisher.publish_archive(
        ask.known(), owner, ask.body, skill=name, version=ask.path["number"], folder=f".apm/skills/{name}/"
    )
    content = {"package": f"{found.owner}/{found.skill}", **_entry(found.version)}
    found.check_accepted()
    if found.version.state is State.HELD:
        return json_answer(content, 202)
    return json_answer(content, 200 if found.existed else 201)


_PACKAGE = "/apm/v1/packages/{owner}/{skill}/versions"
ENDPOINTS = (
    Endpoint(_PACKAGE, _versions, refuse=_problem),
    Endpoint(f"{_PACKAGE}/{{number}}/download", _download, refuse=_problem),
    Endpoint(f"{_PACKAGE}/{{number}}", _publish, "PUT", DOWNLOAD_BYTES, "uploads", refuse=_problem),
)
