"""Parse and validate the skills announced by an MCP server."""

import base64
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict

from skillkit.core.digest import FileDigest, TreeDigest
from skillkit.core.exceptions import SkillSecurityError, SkillsUseError
from skillkit.core.foreign_json import parse_json
from skillkit.core.limits import SKILL_BYTES, SKILL_FILES
from skillkit.core.names import refusal as name_refusal
from skillkit.core.path_resolver import safe_parts
from skillkit.integrations.mcp.published import INDEX_URI, MANIFEST, SCHEME, SKILL_FILE, written_header
from skillkit.integrations.mcp.server import EXTENSION

logger = logging.getLogger(__name__)

MAX_SKILLS = 10_000
PARTIAL = "skillkit.partialHeader"
"""In an entry: its header has the two fields that the older index knows."""
_MAX_PAGES = 1_000
Answer = TypeVar("Answer")


class RemoteSkillError(SkillSecurityError, code="remote-skill"):
    """A server's files differ from its announcement, or are invalid."""


@dataclass(frozen=True, slots=True)
class RemoteSkill:
    """A skill as a server announces it. Its identity is the server together with the URI."""

    server: str
    uri: str
    frontmatter: Mapping[str, object]
    tree: TreeDigest
    """Every file by its path, and the digest that a consent is bound to."""
    whole_header: bool = True
    """Whether `frontmatter` has all fields; the older index knows two of them."""

    @property
    def name(self) -> str:
        return str(self.frontmatter["name"])

    @property
    def digest(self) -> str:
        return self.tree.digest

    @classmethod
    def of_entry(cls, server: str, entry: Mapping[str, object]) -> "RemoteSkill":
        """Parse and validate an entry of the extension; raises RemoteSkillError."""
        uri, header, resources = entry.get("uri"), entry.get("frontmatter"), entry.get("resources")
        if not isinstance(uri, str) or not uri.endswith(f"/{SKILL_FILE}") or not isinstance(header, Mapping):
            raise RemoteSkillError(f"An entry without a URI or a header: {str(uri)[:100]!r}")
        name = header.get("name")
        if not isinstance(name, str) or not isinstance(header.get("description"), str) or name_refusal(name):
            raise RemoteSkillError(f"{uri[:100]!r} has no usable name or description")
        if not isinstance(resources, list):
            raise RemoteSkillError(f"{uri[:100]!r} has no list of files, so it cannot be approved")
        root = uri.removesuffix(SKILL_FILE)
        files: dict[str, FileDigest] = {}
        for each in resources:
            path, file = _checked_file(root, each)
            if path in files:
                raise RemoteSkillError(f"{uri[:100]!r} lists {path!r} twice")
            files[path] = file
        if SKILL_FILE not in files:
            raise RemoteSkillError(f"{uri[:100]!r} does not list its own SKILL.md")
        if len(files) > SKILL_FILES or sum(file.size for file in files.values()) > SKILL_BYTES:
            raise RemoteSkillError(
                f"{uri[:100]!r} has more than {SKILL_FILES} files or {SKILL_BYTES:,} bytes"
            )
        return cls(server, uri, dict(header), TreeDigest.of(files), entry.get(PARTIAL) is not True)

    def entry(self) -> dict[str, object]:
        """Return the entry that `of_entry` takes."""
        root = self.uri.removesuffix(SKILL_FILE)
        resources = [
            {"uri": root + quote(path), "digest": f"sha256:{file.sha256}", "size": file.size}
            for path, file in self.tree.files.items()
        ]
        header = dict(self.frontmatter)
        return {
            "uri": self.uri,
            "frontmatter": header,
            "resources": resources,
            PARTIAL: not self.whole_header,
        }


async def ask(server: Any, label: str, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
    """Return a server's reply; raise a single error instead of the SDK's exception groups."""
    try:
        async with Client(server) as client:
            return await question(client)
    except Exception as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, SkillsUseError):
            raise cause from error
        raise RemoteSkillError(f"The request to the MCP server '{label}' failed: {cause}") from error


async def fetch_files(client: Client, skill: RemoteSkill) -> dict[str, bytes]:
    """Fetch every file of a skill and verify its announced digest; raises RemoteSkillError."""
    files = {}
    for path, known in skill.tree.files.items():
        uri = skill.uri.removesuffix(SKILL_FILE) + quote(path)
        contents = (await client.read_resource(uri)).contents
        raw = content_bytes(contents[0]) if len(contents) == 1 else b""
        if len(raw) != known.size or hashlib.sha256(raw).hexdigest() != known.sha256:
            raise RemoteSkillError(f"{uri} differs from the announced file; nothing was kept")
        files[path] = raw
    return files


async def announced(client: Client, server: str) -> list[RemoteSkill]:
    """Return a server's skills: by the extension, the older index, or FastMCP's file lists."""
    capabilities = client.session.server_capabilities
    known = (
        {}
        if capabilities is None
        else {**(capabilities.experimental or {}), **(capabilities.extensions or {})}
    )
    entries = await _listed(client) if EXTENSION in known else await _indexed(client)
    found = []
    for entry in entries[:MAX_SKILLS]:
        try:
            found.append(RemoteSkill.of_entry(server, entry))
        except SkillsUseError as error:
            logger.warning("MCP server '%s': %s", server, error)
    return found


class _Anything(types.Result):
    model_config = ConfigDict(extra="allow")


class _SkillsRequest(types.Request[dict[str, Any], str]):
    method: str = "skills/list"
    params: dict[str, Any]


async def _listed(client: Client) -> list[Mapping[str, object]]:
    entries: list[Mapping[str, object]] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        params = {} if cursor is None else {"cursor": cursor}
        page = await client.session.send_request(_SkillsRequest(params=params), _Anything)
        data = page.model_dump(by_alias=True)
        for entry in data.get("skills") or []:
            if isinstance(entry, Mapping):
                entries.append({key: entry.get(key) for key in ("uri", "frontmatter", "resources")})
        cursor = data.get("nextCursor")
        if cursor is None:
            break
    return entries


async def _indexed(client: Client) -> list[Mapping[str, object]]:
    """Read the older index, which has no digests: each SKILL.md is fetched to compute its own."""
    try:
        contents = (await client.read_resource(INDEX_URI)).contents
        listed = parse_json(content_bytes(contents[0])).get("skills", [])
    except (MCPError, ValueError, AttributeError, IndexError) as error:
        entries = await _with_manifests(client)
        if not entries:
            logger.warning("The MCP server offers no skills: %s", error)
        return entries
    entries = []
    for each in listed:
        if not isinstance(each, Mapping) or each.get("type") != "skill-md":
            continue
        uri = str(each.get("url"))
        try:
            raw = content_bytes((await client.read_resource(uri)).contents[0])
        except (MCPError, IndexError):
            continue
        file = {"uri": uri, "digest": f"sha256:{hashlib.sha256(raw).hexdigest()}", "size": len(raw)}
        header = {"name": each.get("name"), "description": each.get("description")}
        entries.append({"uri": uri, "frontmatter": header, "resources": [file], PARTIAL: True})
    return entries


async def _with_manifests(client: Client) -> list[Mapping[str, object]]:
    """Read FastMCP's dialect: a list of files beside each SKILL.md, and no list of skills."""
    uris: list[str] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_resources(cursor=cursor)
        uris += [str(resource.uri) for resource in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            break
    entries: list[Mapping[str, object]] = []
    for uri in uris:
        if not uri.startswith(SCHEME) or not uri.endswith(f"/{MANIFEST}"):
            continue
        root = uri.removesuffix(MANIFEST)
        try:
            files = parse_json(content_bytes((await client.read_resource(uri)).contents[0]))["files"]
            raw = content_bytes((await client.read_resource(root + SKILL_FILE)).contents[0])
            resources = [
                {"uri": root + quote(each["path"]), "digest": each["hash"], "size": each["size"]}
                for each in files
            ]
        except (MCPError, ValueError, LookupError, TypeError) as error:
            logger.warning("%s cannot be read: %s", uri[:200], error)
            continue
        header = written_header(raw) or {}
        entries.append({"uri": root + SKILL_FILE, "frontmatter": header, "resources": resources})
    return entries


def _checked_file(root: str, each: object) -> tuple[str, FileDigest]:
    if not isinstance(each, Mapping):
        raise RemoteSkillError(f"{root[:100]!r} lists an entry that is not a file")
    uri, digest, size = each.get("uri"), each.get("digest"), each.get("size")
    if not isinstance(uri, str) or not uri.startswith(root) or not isinstance(size, int) or size < 0:
        raise RemoteSkillError(f"{root[:100]!r} lists a file outside of the skill, or without its size")
    kind, _, value = str(digest).partition(":")
    if kind != "sha256" or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        raise RemoteSkillError(f"{uri[:100]!r} has no SHA-256 digest")
    path = unquote(uri.removeprefix(root))
    parts = safe_parts(path, Path(root))
    if not parts or "/".join(parts) != str(PurePosixPath(path)):
        raise RemoteSkillError(f"{uri[:100]!r} has an invalid path")
    return path, FileDigest(value, size, executable=False)


def content_bytes(content: BaseModel) -> bytes:
    if isinstance(content, types.TextResourceContents):
        return content.text.encode("utf-8")
    if isinstance(content, types.BlobResourceContents):
        return base64.b64decode(content.blob)
    raise RemoteSkillError("The server sent neither text nor bytes")
