"""The dialect of `clawhub`: search, inspect, install, device login, publish with tickets, withdraw."""

import mimetypes
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import PlainTextResponse, Response

from skillkit.core.limits import KIB, MIB, SKILL_BYTES, SKILL_FILES
from skillkit.registry.access import PUBLISH, Purpose, State
from skillkit.registry.accounts import DEVICE_INTERVAL, DEVICE_SECONDS
from skillkit.registry.exceptions import (
    AmbiguousError,
    ForbiddenError,
    MissingError,
    RegistryServerError,
    RejectedError,
)
from skillkit.registry.server import Ask, Endpoint, json_answer, plain_error, send_archive
from skillkit.registry.store import SkillRow, VersionRow


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _error(ask: Ask, error: RegistryServerError) -> Response:
    """Return the owners of an ambiguous name; the client prints an install line for each."""
    if not isinstance(error, AmbiguousError):
        return plain_error(ask, error)
    matches = [
        {"ownerHandle": owner, "slug": slug, "ref": f"@{owner}/{slug}", "url": f"{ask.base}/{owner}/{slug}"}
        for owner, slug in error.matches
    ]
    document = {"code": "AMBIGUOUS_SKILL_SLUG", "message": str(error), "matches": matches}
    return json_answer(document, error.status)


def _skill(ask: Ask, purpose: Purpose = Purpose.SEE) -> SkillRow:
    slug = ask.path.get("slug") or ask.query.get("slug", "")
    return ask.registry.skill(ask.caller, slug, _owner(ask), purpose)


def _owner(ask: Ask) -> str:
    return ask.query.get("ownerHandle", "").removeprefix("@")


def _skill_data(skill: SkillRow) -> dict[str, Any]:
    return {
        "slug": skill.name,
        "displayName": skill.name,
        "summary": skill.description,
        "tags": {"latest": skill.latest_number} if skill.latest_number else {},
        "stats": {"downloads": skill.downloads},
        "createdAt": _milliseconds(skill.created),
        "updatedAt": _milliseconds(skill.updated),
    }


def _latest_data(skill: SkillRow) -> dict[str, Any] | None:
    if skill.latest is None:
        return None
    return {
        "version": skill.latest_number,
        "createdAt": _milliseconds(skill.updated),
        "changelog": skill.latest_changelog,
    }


def _version_data(version: VersionRow) -> dict[str, Any]:
    return {
        "version": version.number,
        "createdAt": _milliseconds(version.created),
        "changelog": version.changelog,
    }


def _discovery(ask: Ask) -> Response:
    return json_answer({"apiBase": ask.base, "authBase": ask.base})


def _search(ask: Ask) -> Response:
    found = ask.registry.search(ask.caller, ask.query.get("q", ""), ask.limit())
    results = [
        {
            "score": round(1 / (1 + place), 3),
            "slug": skill.name,
            "displayName": skill.name,
            "summary": skill.description,
            "version": skill.latest_number,
            "updatedAt": _milliseconds(skill.updated),
            "downloads": skill.downloads,
            "ownerHandle": skill.owner_name,
        }
        for place, skill in enumerate(found)
    ]
    return json_answer({"results": results})


def _explore(ask: Ask) -> Response:
    cursor = ask.query.get("cursor", "")
    before = int(cursor) / 1e6 if cursor.isdecimal() and len(cursor) < 20 else None
    limit = ask.limit()
    found = ask.registry.newest(ask.caller, limit, before)
    items = [{**_skill_data(skill), "latestVersion": _latest_data(skill)} for skill in found]
    last = str(int(found[-1].updated * 1e6)) if len(found) == limit else None
    return json_answer({"items": items, "nextCursor": last})


def _inspect(ask: Ask) -> Response:
    skill = _skill(ask)
    return json_answer(
        {
            "skill": _skill_data(skill),
            "latestVersion": _latest_data(skill),
            "owner": {"handle": skill.owner_name, "displayName": skill.owner_name},
            "moderation": None,
        }
    )


def _versions(ask: Ask) -> Response:
    found = ask.registry.versions(ask.caller, _skill(ask))[: ask.limit()]
    return json_answer({"items": [_version_data(version) for version in found], "nextCursor": None})


def _version(ask: Ask) -> Response:
    skill = _skill(ask, Purpose.FETCH)
    version = ask.registry.version(ask.caller, skill, ask.path["number"], Purpose.FETCH)
    files = [{**_file_data(file), "contentType": _type(file["path"])} for file in version.files]
    return json_answer(
        {
            "version": {**_version_data(version), "files": files},
            "skill": {"slug": skill.name, "displayName": skill.name},
        }
    )


def _file_data(file: Mapping[str, Any]) -> dict[str, Any]:
    return {name: file[name] for name in ("path", "size", "sha256")}


def _type(path: str) -> str:
    return mimetypes.guess_type(path)[0] or "text/plain"


def _file(ask: Ask) -> Response:
    skill = _skill(ask, Purpose.FETCH)
    number, path = ask.query.get("version", ""), ask.query.get("path", "")
    version, file = ask.registry.file(ask.caller, skill, number, path)
    # Whatever the file is, a browser shows text.
    return PlainTextResponse(file.content, headers={"x-version": version.number})


def _download(ask: Ask) -> Response:
    return send_archive(ask, _owner(ask), ask.query.get("slug", ""), ask.query.get("version", ""))


def _resolve(ask: Ask) -> Response:
    try:
        skill = _skill(ask)
    except MissingError:
        raise MissingError("Skill not found") from None
    found = ask.registry.match_fingerprint(ask.caller, skill, ask.query.get("hash", ""))
    latest = skill.latest_number
    if latest is None:  # the next number comes after what its publisher has already sent
        latest = next((each.number for each in ask.registry.versions(ask.caller, skill)), None)
    return json_answer(
        {
            "match": {"version": found.number} if found else None,
            "latestVersion": {"version": latest} if latest else None,
        }
    )


def _whoami(ask: Ask) -> Response:
    caller = ask.known()
    handle = next(map(ask.registry.owner_name, caller.publishes), caller.user)
    return json_answer({"user": {"handle": handle, "displayName": caller.user, "image": None}})


def _device_code(ask: Ask) -> Response:
    label = ask.document().get("label")
    device, code = ask.server.accounts.begin_device(label if isinstance(label, str) else "")
    return json_answer(
        {
            "device_code": device,
            "user_code": code,
            "verification_uri": f"{ask.base}/device",
            "expires_in": DEVICE_SECONDS,
            "interval": DEVICE_INTERVAL,
        }
    )


def _device_token(ask: Ask) -> Response:
    try:
        token = ask.server.accounts.poll_device(ask.text(ask.document(), "device_code"))
    except RejectedError as error:
        slower = {"interval": DEVICE_INTERVAL + 5} if str(error) == "slow_down" else {}
        return json_answer({"error": str(error), **slower}, 400)
    return json_answer({"access_token": token, "token_type": "bearer", "scope": "read write"})


def _upload_url(ask: Ask) -> Response:
    caller = ask.known()
    if not any(grant.scope == PUBLISH for grant in caller.grants):
        raise ForbiddenError("The token does not have the scope publish")
    document = ask.document()
    size = document.get("size")
    if not isinstance(size, int) or isinstance(size, bool):
        raise RejectedError("'size' is not an integer")
    path, sha256 = ask.text(document, "path"), ask.text(document, "sha256", "")
    ticket = ask.server.accounts.add_ticket(caller, path[:4096], size, sha256)
    return json_answer({"uploadUrl": f"{ask.base}/up/{ticket}", "uploadTicket": ticket})


def _upload(ask: Ask) -> Response:
    digest = ask.server.accounts.fill_ticket(ask.known(), ask.path["ticket"], ask.body)
    return json_answer({"storageId": digest})


def _publish(ask: Ask) -> Response:
    caller, document = ask.known(), ask.document()
    listed = document.get("files")
    if not isinstance(listed, list) or not 0 < len(listed) <= SKILL_FILES:
        raise RejectedError(f"'files' must list 1 to {SKILL_FILES} files")
    files: dict[str, bytes] = {}
    for entry in listed:
        if not isinstance(entry, dict):
            raise RejectedError("An entry of 'files' is not an object")
        path, digest = ask.text(entry, "path"), ask.text(entry, "sha256")
        if path in files:
            raise RejectedError(f"'{path[:200]}' is listed twice")
        files[path] = ask.server.accounts.take_ticket(caller, ask.text(entry, "uploadTicket"), path, digest)
    owner = ask.text(document, "ownerHandle", "").removeprefix("@") or _only_owner(ask)
    found = ask.server.publisher.publish_files(
        caller,
        owner,
        files,
        skill=ask.text(document, "slug"),
        version=ask.text(document, "version", ""),
        changelog=ask.text(document, "changelog", ""),
    )
    found.check_accepted()
    status = "pending" if found.version.state is State.HELD else "published"
    return json_answer(
        {
            "ok": True,
            "skillId": f"{found.owner}/{found.skill}",
            "versionId": found.title,
            "publicationStatus": status,
            "attemptId": str(found.version.id),
        }
    )


def _only_owner(ask: Ask) -> str:
    owners = ask.caller.publishes
    if len(owners) != 1:
        raise RejectedError("The token is not limited to one owner; choose one with --owner NAME")
    return ask.registry.owner_name(owners[0])


def _withdraw(ask: Ask) -> Response:
    caller = ask.known()
    skill = _skill(ask)
    ask.registry.change(caller, skill, ask.path["number"], "yank")
    return json_answer({"ok": True})


def _telemetry(ask: Ask) -> Response:
    return json_answer({"ok": True})


_API = "/api/v1"
_ALL = (
    Endpoint("/.well-known/clawhub.json", _discovery),
    Endpoint(f"{_API}/search", _search),
    Endpoint(f"{_API}/skills", _explore),
    Endpoint(f"{_API}/skills", _publish, "POST", MIB, "uploads"),
    Endpoint(f"{_API}/skills/-/upload-url", _upload_url, "POST", 16 * KIB, "files"),
    Endpoint("/up/{ticket}", _upload, "POST", SKILL_BYTES, "files"),
    Endpoint(f"{_API}/skills/{{slug}}", _inspect),
    Endpoint(f"{_API}/skills/{{slug}}/versions", _versions),
    Endpoint(f"{_API}/skills/{{slug}}/versions/{{number}}", _version),
    Endpoint(f"{_API}/skills/{{slug}}/versions/{{number}}", _withdraw, "DELETE", 16 * KIB, "uploads"),
    Endpoint(f"{_API}/skills/{{slug}}/file", _file),
    Endpoint(f"{_API}/download", _download),
    Endpoint(f"{_API}/resolve", _resolve),
    Endpoint(f"{_API}/whoami", _whoami),
    Endpoint("/api/cli/device/code", _device_code, "POST", 16 * KIB, "uploads"),
    Endpoint("/api/cli/device/token", _device_token, "POST", 16 * KIB),
    Endpoint("/api/cli/telemetry/install", _telemetry, "POST", 16 * KIB),
)
ENDPOINTS = tuple(replace(each, refuse=_error) for each in _ALL)
