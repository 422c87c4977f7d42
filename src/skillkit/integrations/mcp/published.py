"""What one client may read of the skills of a manager, by URI: files, folders, entries, and no local path."""

import base64
import logging
import mimetypes
from collections.abc import Sequence
from urllib.parse import unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from skillkit.core.authority import current_requester
from skillkit.core.disk import agent_home
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.disclosure import ToolResult
from skillkit.integrations.mcp import manifest
from skillkit.scripts.outputs import OutputStore

logger = logging.getLogger(__name__)

FOLDER_TYPE = "inode/directory"
ResourceContents = types.TextResourceContents | types.BlobResourceContents


class PublishedSkills:
    """The skills that are offered to whoever asks; everything else is unknown."""

    def __init__(self, manager: SkillManager) -> None:
        self.manager = manager

    def skill(self, uri: str) -> tuple[SkillMetadata, str]:
        """The skill and the path that `uri` means; raises the protocol's error."""
        parsed = manifest.parse_uri(uri)
        skill = self.manager.find_skill(parsed[0]) if parsed else None
        known = skill is not None and uri.startswith(manifest.skill_uri(skill, ""))
        if parsed is None or skill is None or not known or skill not in self.manager.offered_skills():
            raise unknown(uri)
        return skill, parsed[1]

    def content(self, uri: str, *, remote: bool = False) -> ResourceContents:
        """What is read at `uri`; `remote` keeps paths of this machine out of errors."""
        if uri == manifest.INDEX_URI:
            return _json_text(uri, manifest.index(self.manager))
        skill, path = self.skill(uri)
        try:
            if path == manifest.MANIFEST:
                return _json_text(uri, manifest.file_list(skill))
            raw = manifest.read_file(skill, path)
        except SkillsUseError as error:
            said = self.without_paths(str(error), skill) if remote else str(error)
            raise MCPError(types.INVALID_PARAMS, said) from error
        return resource_contents(uri, raw, manifest.media_type(path))

    def entry(self, uri: str) -> dict[str, object]:
        """The entry of the skill whose SKILL.md is at `uri`."""
        skill, path = self.skill(uri)
        if path != manifest.SKILL_FILE:
            raise unknown(uri)
        try:
            return manifest.entry(skill)
        except SkillsUseError as error:
            raise MCPError(types.INVALID_PARAMS, self.without_paths(str(error), skill)) from error

    def entries(self, skills: Sequence[SkillMetadata]) -> list[dict[str, object]]:
        """The entries of `skills`, without those that cannot be published whole."""
        entries = []
        for skill in skills:
            try:
                entries.append(manifest.entry(skill))
            except SkillsUseError as error:
                logger.warning("Skill '%s' is not published over MCP: %s", skill.name, error)
        return entries

    def children(self, uri: str) -> list[dict[str, object]]:
        """The files and folders directly beneath the folder of a skill at `uri`."""
        folder = uri.rstrip("/") + "/"
        skill, _ = self.skill(f"{folder}{manifest.SKILL_FILE}")
        try:
            files = manifest.files(skill)
        except SkillsUseError as error:
            raise MCPError(types.INVALID_PARAMS, self.without_paths(str(error), skill)) from error
        found: dict[str, dict[str, object]] = {}
        for path in files:
            address = manifest.skill_uri(skill, path)
            if not address.startswith(folder):
                continue
            name, below, _ = address.removeprefix(folder).partition("/")
            kind = FOLDER_TYPE if below else manifest.media_type(path)
            found.setdefault(name, {"uri": f"{folder}{name}", "name": unquote(name), "mimeType": kind})
        if not found:
            raise unknown(uri)
        return list(found.values())

    def without_paths(self, text: str, skill: SkillMetadata | None = None) -> str:
        """`text` with URIs in place of the paths of this machine."""
        if skill is not None:
            text = text.replace(str(skill.base_dir), manifest.skill_uri(skill, "").rstrip("/"))
        folders = {str(source.directory) for source in self.manager.sources} | {str(agent_home())}
        for folder in sorted(folders, key=len, reverse=True):
            text = text.replace(folder, manifest.SCHEME.removesuffix("/"))
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
    """Return what a script of this client made; ContentLoadError if it made no such file."""
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
