"""The dialect of `npx skills`: scoped well-known indexes, archives, search. The root has no index."""

from starlette.responses import Response

from skillkit.install.sources.site_index import SCHEMA
from skillkit.registry.access import Purpose
from skillkit.registry.exceptions import MissingError
from skillkit.registry.server import Ask, Endpoint, json_answer, send_archive
from skillkit.registry.store import SkillRow, VersionRow

_SUFFIX = ".tar.gz"


def _index(ask: Ask) -> Response:
    """Return the index of an owner, a skill or one pinned version."""
    parts = str(ask.path["scope"]).strip("/").split("/")
    head, at, last = parts[-1].partition("@")
    # What `find` prints is SOURCE@NAME, and pasted it arrives as a last segment.
    pinned = ""
    if at and len(parts) == 1:
        parts = [head, last]
    elif at and len(parts) == 2:
        parts[-1], pinned = head, "" if last.lower() == head.lower() else last
    if len(parts) == 3 and not at:
        pinned = parts.pop()
    if len(parts) == 1 and not at:
        skills = ask.registry.skills_of(ask.caller, parts[0])
        entries = [_entry(ask, *each) for each in ask.registry.latest(ask.caller, skills)]
    elif len(parts) == 2:
        purpose = Purpose.FETCH if pinned else Purpose.LIST
        skill = ask.registry.skill(ask.caller, parts[1], parts[0], purpose)
        entries = [_entry(ask, skill, ask.registry.version(ask.caller, skill, pinned, purpose))]
    else:
        raise MissingError
    return json_answer({"$schema": SCHEMA, "skills": entries})


def _entry(ask: Ask, skill: SkillRow, version: VersionRow) -> dict[str, str]:
    return {
        "name": skill.name,
        "type": "archive",
        "description": str(version.checks.get("description", "")),
        "url": f"{ask.prefix}/dl/{skill.owner_name}/{skill.name}/{version.number}{_SUFFIX}",
        "digest": f"sha256:{version.tar}",
        "version": version.number,
        "treeDigest": version.digest,
    }


def _download(ask: Ask) -> Response:
    name = str(ask.path["file"])
    if not name.endswith(_SUFFIX):
        raise MissingError
    return send_archive(ask, ask.path["owner"], ask.path["skill"], name.removesuffix(_SUFFIX), "tar")


def _search(ask: Ask) -> Response:
    asked = ask.query.get("q", "")
    found = ask.registry.search(ask.caller, asked, ask.limit(100, 20))
    skills = [
        {
            "id": skill.title,
            "name": skill.name,
            "slug": skill.name,
            "source": f"{ask.base}/{skill.title}",
            "installs": skill.downloads,
        }
        for skill in found
    ]
    return json_answer({"query": asked, "skills": skills, "count": len(skills)})


ENDPOINTS = (
    Endpoint("/api/search", _search),
    Endpoint("/{scope:path}/.well-known/agent-skills/index.json", _index),
    Endpoint("/dl/{owner}/{skill}/{file}", _download),
)
