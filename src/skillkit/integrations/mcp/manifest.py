"""Skills as MCP sees them: a URI for each file, and an entry with the digest of every one of them."""

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from skillkit.core import header
from skillkit.core.content import read_whole
from skillkit.core.digest import MAX_BYTES, tree_digest
from skillkit.core.exceptions import ContentLoadError, SizeLimitExceededError, SkillParsingError
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.path_resolver import open_beneath

SCHEME = "skill://"
INDEX_URI = "skill://index.json"
SKILL_FILE = "SKILL.md"


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
    files = tree_digest(skill.base_dir).files
    resources: list[dict[str, object]] = []
    for path, file in files.items():
        shown = SKILL_FILE if path == skill.skill_path.name else path
        resources.append(
            {"uri": skill_uri(skill, shown), "digest": f"sha256:{file.sha256}", "size": file.size}
        )
    return {"uri": skill_uri(skill), "frontmatter": frontmatter(skill), "resources": resources}


def frontmatter(skill: SkillMetadata) -> dict[str, object]:
    """Every field that the author wrote; of a header that had to be mended, what was understood."""
    known: dict[str, object] = {"name": skill.name, "description": skill.description}
    try:
        raw, _ = read_whole(skill.skill_path)
        parts = header.split(raw)
        fields = header.load(raw[parts.header_start : parts.header_end].decode("utf-8"))
    except (SkillParsingError, ContentLoadError, UnicodeDecodeError):
        return known
    written = {field.key: _plain(field.value) for field in fields}
    return {**written, "name": skill.name} if {"name", "description"} <= written.keys() else known


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


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of a file, in the form that the protocol carries."""

    raw: bytes
    media_type: str

    @property
    def text(self) -> str | None:
        try:
            return self.raw.decode("utf-8")
        except UnicodeDecodeError:
            return None

    @property
    def blob(self) -> str:
        return base64.b64encode(self.raw).decode("ascii")


def read_file(skill: SkillMetadata, path: str) -> FileContent:
    """A whole file beneath the skill's folder, exactly as it is on disk."""
    actual = skill.skill_path.name if path == SKILL_FILE else path
    with open_beneath(skill.base_dir, actual) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > MAX_BYTES:
            raise SizeLimitExceededError(
                f"'{path}' of skill '{skill.name}' has more than {MAX_BYTES:,} bytes"
            )
        with os.fdopen(os.dup(descriptor), "rb") as file:
            raw = file.read(MAX_BYTES)
    return FileContent(raw, _media_type(path))


def _media_type(path: str) -> str:
    import mimetypes

    if path.lower().endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
