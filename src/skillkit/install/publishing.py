"""Publishing skills: as a site with an index and digests, or one skill on a registry."""

import gzip
import hashlib
import io
import json
import tarfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from skillkit.core.codec import encode
from skillkit.core.disk import make_folder, replace_file
from skillkit.core.foreign_json import parse_json
from skillkit.core.limits import JSON_BYTES
from skillkit.core.text import escape_hidden, one_line
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.exceptions import (
    AccessError,
    InstallError,
    NameConflictError,
    NetworkError,
    SourceError,
)
from skillkit.install.fetch import SkillSelector, fetch, manifest
from skillkit.install.sources.download import NoRedirects, registry_token, token_name
from skillkit.install.sources.folder import FolderSource
from skillkit.install.sources.layout import Skipped
from skillkit.install.sources.site_index import INDEXES, SCHEMA
from skillkit.install.sources.source import Access, check_address
from skillkit.install.tree import SKILL_FILE, SkillTree, TreeLimits, read_folder

MAX_DESCRIPTION = 1024
API = "/api/skillkit/v1/"
_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class PublishedSkill:
    """One entry of the index that was written."""

    name: str
    url: str
    digest: str


def publish(skills: Path, site: Path) -> tuple[list[PublishedSkill], tuple[Skipped, ...]]:
    """Write every skill beneath `skills` and the index into `site`, the folder that the site serves.

    Return published and skipped skills. The index is written last, so it names only complete files.
    """
    with FolderSource(skills.absolute()).open(Access()) as opened:
        fetched = fetch(opened, "", SkillSelector(everything=True), TreeLimits())
    if not fetched.skills:
        raise InstallError(f"Nothing to publish: no valid skill in {skills}")
    index = site / INDEXES[0].strip("/")
    make_folder(index.parent)
    entries: list[dict[str, str]] = []
    for skill in sorted(fetched.skills, key=lambda skill: skill.metadata.canonical_name):
        name = skill.metadata.canonical_name
        if any(entry["name"] == name for entry in entries):
            raise NameConflictError(f"Two skills are named '{name}'; a site can publish only one")
        file, data, kind = _artifact(name, skill.tree)
        make_folder((index.parent / file).parent)
        replace_file(index.parent / file, data)
        entries.append(
            {
                "name": name,
                "type": kind,
                "description": one_line(skill.metadata.description)[:MAX_DESCRIPTION],
                "url": file,
                "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            }
        )
    content = json.dumps({"$schema": SCHEMA, "skills": entries}, indent=2, ensure_ascii=False) + "\n"
    replace_file(index, content.encode())
    published = [PublishedSkill(entry["name"], entry["url"], entry["digest"]) for entry in entries]
    return published, fetched.left_out


def _artifact(name: str, tree: SkillTree) -> tuple[str, bytes, str]:
    """Return the file of a skill beneath the index, its bytes and the type in the index."""
    if set(tree.files) == {SKILL_FILE}:
        return f"{name}/{SKILL_FILE}", tree.skill_file, "skill-md"
    return f"{name}.tar.gz", pack(tree), "archive"


def pack(tree: SkillTree) -> bytes:
    """Pack the files as .tar.gz, reproducibly, so that an unchanged skill keeps its digest."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, file in sorted(tree.files.items()):
            info = tarfile.TarInfo(path)
            info.size = len(file.content)
            info.mode = 0o755 if file.executable else 0o644
            archive.addfile(info, io.BytesIO(file.content))
    return gzip.compress(plain.getvalue(), mtime=0)


def published_view(published: Sequence[PublishedSkill]) -> list[dict[str, str]]:
    """Return the published skills as JSON."""
    return [encode(skill) for skill in published]


@dataclass(frozen=True, slots=True)
class Upload:
    """A skill that is ready to be published, with its card."""

    tree: SkillTree
    name: str
    card: Capabilities

    @classmethod
    def of(cls, folder: Path) -> "Upload":
        """Read a skill's folder. Raises InstallError."""
        tree = read_folder(folder)
        if SKILL_FILE not in tree.files:
            raise InstallError(f"{folder} has no {SKILL_FILE}")
        metadata = manifest(tree.skill_file, folder.absolute().name)
        return cls(tree, metadata.canonical_name, capabilities(tree, metadata))

    def send(self, place: str, version: str = "", changelog: str = "") -> dict[str, Any]:
        """Publish it as the owner at `place`, BASE/owner; return the registry's response.

        A refusal by the registry's own rules is a response, too: its `state` is `refused`.
        """
        parts = urlsplit(check_address(place))
        owner = parts.path.strip("/")
        if not owner or "/" in owner:
            raise SourceError(f"'{escape_hidden(place)}' is not an owner: write https://HOST/OWNER")
        base = f"{parts.scheme}://{parts.netloc}"
        token = registry_token(base)
        if token is None:
            raise AccessError(f"{base} needs a token: agent secret set {token_name(base)}")
        given = {"skill": self.name, "version": version, "changelog": changelog}
        address = f"{base}{API}{quote(owner)}?{urlencode(given)}"
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/gzip",
            "User-Agent": "skillkit",
        }
        request = urllib.request.Request(address, pack(self.tree), headers, method="POST")
        return _answer(base, request)


def _answer(base: str, request: urllib.request.Request) -> dict[str, Any]:
    try:
        with urllib.request.build_opener(NoRedirects).open(request, timeout=_SECONDS) as response:
            return _document(base, response.read(JSON_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            body = error.read(JSON_BYTES)
        if error.code == 422:
            return _document(base, body)
        said = one_line(body.decode("utf-8", "replace"))[:500]
        kind = AccessError if error.code in (401, 403) else InstallError
        raise kind(f"{base} returned {error.code}: {said}") from error
    except (urllib.error.URLError, HTTPException, OSError) as error:
        reason = escape_hidden(str(getattr(error, "reason", error)))
        raise NetworkError(f"{base} cannot be reached: {reason}") from error


def _document(base: str, body: bytes) -> dict[str, Any]:
    try:
        found = parse_json(body)
    except ValueError as error:
        raise NetworkError(f"{base} is not a registry that accepts uploads") from error
    if not isinstance(found, dict) or not isinstance(found.get("state"), str):
        raise NetworkError(f"{base} is not a registry that accepts uploads: {json.dumps(found)[:200]}")
    return found
