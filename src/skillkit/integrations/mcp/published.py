"""Skills as MCP clients read them: a URI and a digest for each file, entries, folders, and no local path."""

import base64
import json
import logging
import mimetypes
import os
from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from skillkit.core import header
from skillkit.core.authority import current_requester
from skillkit.core.content import read_whole
from skillkit.core.digest import FileDigest, tree_digest
from skillkit.core.disk import agent_home
from skillkit.core.exceptions import (
    ContentLoadError,
    SizeLimitExceededError,
    SkillParsingError,
    SkillsUseError,
)
from skillkit.core.limits import SKILL_BYTES
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.path_resolver import open_beneath
from skillkit.disclosure import ToolResult
from skillkit.scripts.outputs import OutputStore

logger = logging.getLogger(__name__)

FOLDER_TYPE = "inode/directory"
ResourceContents = types.TextResourceContents | types.BlobResourceContents

SCHEME = "skill://"
INDEX_URI = "skill://index.json"
SKILL_FILE = "SKILL.md"
MANIFEST = "_manifest"
"""Where the dialect of FastMCP has the list of a skill's files."""


class PublishedSkills:
    """The skills published to clients."""

    def __init__(self, manager: SkillManager) -> None:
        self.manager = manager

    def skill(self, uri: str) -> tuple[SkillMetadata, str]:
        """Return the skill and path of `uri`; raises MCPError."""
        parsed = parse_uri(uri)
        skill = self.manager.find_skill(parsed[0]) if parsed else None
        known = skill is not None and uri.startswith(skill_uri(skill, ""))
        if parsed is None or skill is None or not known or skill not in self.manager.offered_skills():
            raise unknown(uri)
        return skill, parsed[1]

    def content(self, uri: str, *, remote: bool = False) -> ResourceContents:
        """Return the content of `uri`; `remote` keeps paths of this machine out of errors."""
        if uri == INDEX_URI:
            return _json_text(uri, index(self.manager))
        skill, path = self.skill(uri)
        try:
            if path == MANIFEST:
                return _json_text(uri, file_list(skill))
            raw = read_file(skill, path)
        except SkillsUseError as error:
            said = self.without_paths(str(error), skill) if remote else str(error)
            raise MCPError(types.INVALID_PARAMS, said) from error
        return resource_contents(uri, raw, media_type(path))

    def entry(self, uri: str) -> dict[str, object]:
        """Return the entry of the skill whose SKILL.md is at `uri`."""
        skill, path = self.skill(uri)
        if path != SKILL_FILE:
            raise unknown(uri)
        try:
            return entry(skill)
        except SkillsUseError as error:
            raise MCPError(types.INVALID_PARAMS, self.without_paths(str(error), skill)) from error

    def entries(self, skills: Sequence[SkillMetadata]) -> list[dict[str, object]]:
        """Return the entries of `skills` that can be published with all their files."""
        entries = []
        for skill in skills:
            try:
                entries.append(entry(skill))
            except SkillsUseError as error:
                logger.warning("Skill '%s' is not published over MCP: %s", skill.name, error)
        return entries

    def children(self, uri: str) -> list[dict[str, object]]:
        """Return the files and folders directly beneath the folder of a skill at `uri`."""
        folder = uri.rstrip("/") + "/"
        skill, _ = self.skill(f"{folder}{SKILL_FILE}")
        try:
            paths = files(skill)
        except SkillsUseError as error:
            raise MCPError(types.INVALID_PARAMS, self.without_paths(str(error), skill)) from error
        found: dict[str, dict[str, object]] = {}
        for path in paths:
            address = skill_uri(skill, path)
            if not address.startswith(folder):
                continue
            name, below, _ = address.removeprefix(folder).partition("/")
            kind = FOLDER_TYPE if below else media_type(path)
            found.setdefault(name, {"uri": f"{folder}{name}", "name": unquote(name), "mimeType": kind})
        if not found:
            raise unknown(uri)
        return list(found.values())

    def without_paths(self, text: str, skill: SkillMetadata | None = None) -> str:
        """Return `text` with paths of this machine replaced by URIs."""
        if skill is not None:
            text = text.replace(str(skill.base_dir), skill_uri(skill, "").rstrip("/"))
        folders = {str(source.directory) for source in self.manager.sources} | {str(agent_home())}
        for folder in sorted(folders, key=len, reverse=True):
            text = text.replace(folder, SCHEME.removesuffix("/"))
        return text


def unknown(uri: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"There is no skill at {uri[:200]!r}")


def _json_text(uri: str, text: str) -> types.TextResourceContents:
    return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)


def made_content(result: ToolResult) -> list[types.ContentBlock]:
    """Return a link to each file that a script made, and the pictures among them."""
    links = [
        types.ResourceLink(
            type="resource_link",
            uri=str(file["uri"]),
            name=str(file["name"]),
            mime_type=str(file["media_type"]),
            size=file["bytes"] if isinstance(file["bytes"], int) else None,
        )
        for file in result.files
        if file.keys() >= {"uri", "name", "media_type", "bytes"}
    ]
    pictures = [file for file in result.shown if file.is_picture]
    return [
        *links,
        *(types.ImageContent(type="image", data=file.base64, mime_type=file.media_type) for file in pictures),
    ]


def read_made_file(outputs: OutputStore, uri: str) -> ResourceContents:
    """Return a file made by a script of this client; raises ContentLoadError if there is none."""
    path = outputs.path(uri, current_requester())
    return resource_contents(uri, path.read_bytes(), mimetypes.guess_type(path.name)[0])


def resource_contents(uri: str, raw: bytes, media_type: str | None) -> ResourceContents:
    """Return the bytes of a file in the form that the protocol carries."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        blob = base64.b64encode(raw).decode("ascii")
        return types.BlobResourceContents(
            uri=uri, mime_type=media_type or "application/octet-stream", blob=blob
        )
    return types.TextResourceContents(uri=uri, mime_type=media_type or "text/plain", text=text)


def skill_uri(skill: SkillMetadata, path: str = SKILL_FILE) -> str:
    """Return the URI of a file of a skill; its name precedes the path, as the specification requires."""
    return f"{SCHEME}{quote(skill.name, safe='')}/{quote(path)}"


def parse_uri(uri: str) -> tuple[str, str] | None:
    """Return name and path of one of our URIs; None for any other."""
    if not uri.startswith(SCHEME):
        return None
    name, slash, path = uri.removeprefix(SCHEME).partition("/")
    return (unquote(name), unquote(path)) if name and slash and path else None


def entry(skill: SkillMetadata) -> dict[str, object]:
    """Return the entry of a skill; raises SkillsUseError when it cannot be published with all its files."""
    resources: list[dict[str, object]] = [
        {"uri": skill_uri(skill, path), "digest": f"sha256:{file.sha256}", "size": file.size}
        for path, file in files(skill).items()
    ]
    return {"uri": skill_uri(skill), "frontmatter": frontmatter(skill), "resources": resources}


def files(skill: SkillMetadata) -> dict[str, FileDigest]:
    """Return every file of a skill by the path it is served at; raises SkillsUseError."""
    found = tree_digest(skill.base_dir).files.items()
    return {SKILL_FILE if path == skill.skill_path.name else path: file for path, file in found}


def file_list(skill: SkillMetadata) -> str:
    """Return the files of a skill as clients of FastMCP read them before they download it."""
    listed = [
        {"path": path, "size": file.size, "hash": f"sha256:{file.sha256}"}
        for path, file in files(skill).items()
    ]
    return json.dumps({"skill": skill.name, "files": listed}, ensure_ascii=False)


def frontmatter(skill: SkillMetadata) -> dict[str, object]:
    """Return every header field as written; of a repaired header, the recovered fields."""
    try:
        raw, _ = read_whole(skill.skill_path)
    except ContentLoadError:
        raw = b""
    written = written_header(raw)
    known: dict[str, object] = {"name": skill.name, "description": skill.description}
    return known if written is None else {**written, "name": skill.name}


def written_header(raw: bytes) -> dict[str, object] | None:
    """Return the fields of a SKILL.md as written; None if the header is invalid."""
    try:
        parts = header.split(raw)
        fields = header.load(raw[parts.header_start : parts.header_end].decode("utf-8"))
    except (SkillParsingError, UnicodeDecodeError):
        return None
    written = {field.key: _plain(field.value) for field in fields}
    return written if {"name", "description"} <= written.keys() else None


def index(manager: SkillManager) -> str:
    """Return the JSON index of all skills, the older form of discovery."""
    skills = [
        {
            "name": skill.name,
            "type": "skill-md",
            "description": skill.description,
            "url": skill_uri(skill),
        }
        for skill in manager.offered_skills()
    ]
    return json.dumps({"skills": skills}, ensure_ascii=False)


def read_file(skill: SkillMetadata, path: str) -> bytes:
    """Read a whole file beneath the skill's folder."""
    actual = skill.skill_path.name if path == SKILL_FILE else path
    with open_beneath(skill.base_dir, actual) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > SKILL_BYTES:
            raise SizeLimitExceededError(
                f"'{path}' of skill '{skill.name}' has more than {SKILL_BYTES:,} bytes"
            )
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(SKILL_BYTES)


def media_type(path: str) -> str:
    """Return the media type for the name of a file."""
    if path.lower().endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
