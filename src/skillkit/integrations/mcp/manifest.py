"""Skills as MCP sees them: a URI for each file, and an entry with the digest of every one of them."""

import json
import mimetypes
import os
from collections.abc import Mapping
from urllib.parse import quote, unquote

from skillkit.core import header
from skillkit.core.content import read_whole
from skillkit.core.digest import MAX_BYTES, FileDigest, tree_digest
from skillkit.core.exceptions import ContentLoadError, SizeLimitExceededError, SkillParsingError
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.path_resolver import open_beneath

SCHEME = "skill://"
INDEX_URI = "skill://index.json"
SKILL_FILE = "SKILL.md"
MANIFEST = "_manifest"
"""Where the dialect of FastMCP has the list of a skill's files."""


def skill_uri(skill: SkillMetadata, path: str = SKILL_FILE) -> str:
    """The address of a file of a skill; the last part before it is the name, as the specification wants."""
    return f"{SCHEME}{quote(skill.name, safe='')}/{quote(path)}"


def parse_uri(uri: str) -> tuple[str, str] | None:
    """Name and path in a URI of ours, or None."""
    if not uri.startswith(SCHEME):
        return None
    name, slash, path = uri.removeprefix(SCHEME).partition("/")
    return (unquote(name), unquote(path)) if name and slash and path else None


def entry(skill: SkillMetadata) -> dict[str, object]:
    """The entry of a skill; raises SkillsUseError when it cannot be published with all its files."""
    resources: list[dict[str, object]] = [
        {"uri": skill_uri(skill, path), "digest": f"sha256:{file.sha256}", "size": file.size}
        for path, file in files(skill).items()
    ]
    return {"uri": skill_uri(skill), "frontmatter": frontmatter(skill), "resources": resources}


def files(skill: SkillMetadata) -> dict[str, FileDigest]:
    """Every file of a skill by the path it is served at; raises SkillsUseError."""
    found = tree_digest(skill.base_dir).files.items()
    return {SKILL_FILE if path == skill.skill_path.name else path: file for path, file in found}


def file_list(skill: SkillMetadata) -> str:
    """The files of a skill as clients of FastMCP read them before they download it."""
    listed = [
        {"path": path, "size": file.size, "hash": f"sha256:{file.sha256}"}
        for path, file in files(skill).items()
    ]
    return json.dumps({"skill": skill.name, "files": listed}, ensure_ascii=False)


def frontmatter(skill: SkillMetadata) -> dict[str, object]:
    """Every field that the author wrote; of a header that had to be mended, what was understood."""
    try:
        raw, _ = read_whole(skill.skill_path)
    except ContentLoadError:
        raw = b""
    written = written_header(raw)
    known: dict[str, object] = {"name": skill.name, "description": skill.description}
    return known if written is None else {**written, "name": skill.name}


def written_header(raw: bytes) -> dict[str, object] | None:
    """The fields of a SKILL.md as they were written; None when it would have to be mended."""
    try:
        parts = header.split(raw)
        fields = header.load(raw[parts.header_start : parts.header_end].decode("utf-8"))
    except (SkillParsingError, UnicodeDecodeError):
        return None
    written = {field.key: _plain(field.value) for field in fields}
    return written if {"name", "description"} <= written.keys() else None


def index(manager: SkillManager) -> str:
    """The older form of discovery: one JSON document that names every skill."""
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
    """A whole file beneath the skill's folder, exactly as it is on disk."""
    actual = skill.skill_path.name if path == SKILL_FILE else path
    with open_beneath(skill.base_dir, actual) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > MAX_BYTES:
            raise SizeLimitExceededError(
                f"'{path}' of skill '{skill.name}' has more than {MAX_BYTES:,} bytes"
            )
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(MAX_BYTES)


def media_type(path: str) -> str:
    """The media type by the name of a file."""
    if path.lower().endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
