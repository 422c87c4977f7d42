"""`.claude-plugin/plugin.json`: the name of a plugin, its folders of skills and its marketplace."""

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillkit.core.exceptions import (
    ManifestNotFoundError,
    ManifestParseError,
    ManifestValidationError,
)
from skillkit.core.foreign_json import parse_json
from skillkit.core.path_resolver import open_file
from skillkit.core.text import HIDDEN_OR_LAYOUT, escape_hidden

MANIFEST = Path(".claude-plugin", "plugin.json")
MARKETPLACE = Path(".claude-plugin", "marketplace.json")
MAX_MANIFEST_SIZE = 1_000_000
_REQUIRED = ("name", "version", "description", "author")
_VERSIONS = ("0.1", "0.3")
_NOT_IN_NAME = re.compile(rf"[\s:/\\]|{HIDDEN_OR_LAYOUT.pattern}")
_MAX_DESCRIPTION = 1000


@dataclass(frozen=True, slots=True)
class PluginManifest:
    """A plugin, as its manifest describes it."""

    name: str
    version: str
    description: str
    author: dict[str, str]
    skills: list[str]
    """Folders with skills, relative to the plugin's root and never outside it."""
    manifest_path: Path
    manifest_version: str = "0.1"
    display_name: str | None = None
    homepage: str | None = None
    repository: dict[str, str] | None = None

    def __post_init__(self) -> None:
        if self.manifest_version not in _VERSIONS:
            raise _invalid(
                "manifest_version",
                self.manifest_version,
                f"Unsupported manifest_version: {self.manifest_version}. "
                f"Supported versions: {', '.join(_VERSIONS)}",
            )
        if not self.name or _NOT_IN_NAME.search(self.name):
            raise _invalid(
                "name",
                self.name,
                "Plugin name cannot be empty or contain spaces, ':', '/' or invisible characters",
            )
        if self.version.count(".") < 2:
            raise _invalid("version", self.version, "Version must be semver format (e.g., 1.0.0)")
        if not 0 < len(self.description) <= _MAX_DESCRIPTION:
            raise _invalid("description", self.description, "Description required (max 1000 chars)")
        if "name" not in self.author:
            raise _invalid("author", self.author, "Author must be a dict with 'name' field")
        for folder in self.skills:
            _check_folder(folder)


def parse_plugin_manifest(manifest_path: Path, *, strict: bool = True) -> PluginManifest:
    """Read and check a plugin.json.

    Unless `strict`, one without `manifest_version` is read as other clients read it: only its name is
    required. One that declares the version of our format is held to it.
    """
    data = _read(manifest_path)
    if not strict and "manifest_version" not in data:
        data = _completed(data)
    missing = [name for name in _REQUIRED if name not in data]
    if missing:
        raise ManifestValidationError(
            f"Missing required fields: {', '.join(missing)} in {manifest_path}. "
            f"Required: {', '.join(_REQUIRED)}",
            field_name=missing[0],
        )
    for name in ("name", "version", "description"):
        if not isinstance(data[name], str):
            raise _invalid(name, data[name], f"'{name}' must be text, got {type(data[name]).__name__}")
    skills = data.get("skills", ["skills/"])
    if isinstance(skills, str):
        skills = [skills]
    elif not isinstance(skills, list):
        raise _invalid("skills", type(skills).__name__, "'skills' must be string or array")
    author = data["author"]
    if isinstance(author, str):
        author = {"name": author}
    elif not isinstance(author, dict):
        raise _invalid("author", type(author).__name__, "'author' must be string or object")
    return PluginManifest(
        name=data["name"],
        version=data["version"],
        description=data["description"],
        author=author,
        skills=skills,
        manifest_path=manifest_path,
        manifest_version=data.get("manifest_version", "0.1"),
        display_name=data.get("display_name"),
        homepage=data.get("homepage"),
        repository=data.get("repository"),
    )


def plugin_id(root: Path, name: str) -> str:
    """Return `plugin@marketplace`, Claude Code's name for a plugin, derived from its folder."""
    return f"{name}@{_marketplace(root, name)}"


def _marketplace(root: Path, name: str) -> str:
    """Return the marketplace of a plugin, or Claude Code's word for a place without one."""
    above = [folder.name for folder in root.parents]
    if above[2:4] == ["cache", "plugins"]:  # plugins/cache/MARKETPLACE/PLUGIN/VERSION
        return above[1]
    if above[:2] == ["synced", "plugins"]:
        return "synced"
    for folder in (root, *root.parents):
        try:
            data = _read(folder / MARKETPLACE)
        except (ManifestNotFoundError, ManifestParseError, ManifestValidationError):
            continue
        entries, market = data.get("plugins"), data.get("name")
        listed = entries if isinstance(entries, list) else []
        if isinstance(market, str) and any(
            isinstance(e, dict) and _one_word(str(e.get("name"))) == name for e in listed
        ):
            return market
    return "skills-dir" if above[:2] == ["skills", ".claude"] else "inline"


def _completed(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fill in fields that clients do not require, and read folders given as objects."""
    version, author, skills = data.get("version"), data.get("author"), data.get("skills")
    name = data.get("name")
    description = str(data.get("description") or "-")[:_MAX_DESCRIPTION]
    named = isinstance(author, str) or (isinstance(author, dict) and "name" in author)
    folders = skills if isinstance(skills, list) else ["skills/" if skills is None else skills]
    told = [folder.get("path") if isinstance(folder, dict) else folder for folder in folders]
    return {
        **data,
        **({"name": _one_word(name)} if isinstance(name, str) else {}),
        "version": version if isinstance(version, str) and version.count(".") >= 2 else "0.0.0",
        "description": description,
        "author": author if named else {"name": ""},
        "skills": told,
    }


def _one_word(name: str) -> str:
    """Return a name usable before the colon; clients only warn about spaces in it."""
    return name.strip(" ").replace(" ", "-")


def _read(manifest_path: Path) -> Mapping[str, Any]:
    where = str(manifest_path)
    try:
        with os.fdopen(open_file(os.fspath(manifest_path)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ManifestParseError(f"Not a regular file: {where}", where)
            raw = file.read(MAX_MANIFEST_SIZE + 1)
        if len(raw) > MAX_MANIFEST_SIZE:
            raise ManifestParseError(f"Manifest too large: {where} (max {MAX_MANIFEST_SIZE:,} bytes)", where)
        data = parse_json(raw.decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise ManifestNotFoundError(
            f"Plugin manifest not found: {where}. Expected location: {MANIFEST.as_posix()}"
        ) from error
    except json.JSONDecodeError as error:
        raise ManifestParseError(
            f"Invalid JSON in {where}: line {error.lineno}, column {error.colno}: {error.msg}",
            where,
            error,
        ) from error
    except UnicodeDecodeError as error:
        raise ManifestParseError(f"Manifest is not UTF-8: {where}", where, error) from error
    except (RecursionError, ValueError) as error:
        raise ManifestParseError(f"Manifest cannot be read: {where}: {error}", where, error) from error
    except OSError as error:
        raise ManifestParseError(f"Cannot read manifest {where}: {error}", where, error) from error
    if not isinstance(data, dict):
        raise _invalid("root", type(data).__name__, "Manifest must be a JSON object")
    return data


def _check_folder(folder: object) -> None:
    if not isinstance(folder, str) or not folder:
        raise _invalid("skills", folder, "Skill path cannot be empty")
    if ".." in folder:
        raise _invalid("skills", folder, f"Security violation: Path contains '..': {folder}")
    if folder[1:2] == ":":
        raise _invalid("skills", folder, f"Security violation: Drive letters not allowed: {folder}")
    if folder.startswith(("/", "\\")):
        raise _invalid("skills", folder, f"Security violation: Path must be relative: {folder}")


def _invalid(field_name: str, value: object, message: str) -> ManifestValidationError:
    return ManifestValidationError(escape_hidden(message), field_name=field_name, invalid_value=str(value))
