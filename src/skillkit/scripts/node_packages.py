"""Packages of a skill's Node.js scripts: from `package.json`, their imports and npm's lock."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.core.models import SkillMetadata
from skillkit.scripts.catalogue import find_scripts
from skillkit.scripts.exceptions import DependencyError
from skillkit.scripts.imports import node_packages_of, read_files
from skillkit.scripts.interpreters import NODE, NODE_SUFFIXES, language_of

PACKAGE_FILE = "package.json"
MODULES = "node_modules"
_LOCK_FILE = "package-lock.json"
_MAX_FILE = 4 << 20
_MAX_DEPENDENCIES = 200
_NAME = re.compile(r"(?:@[A-Za-z0-9~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*")
_VERSIONS = re.compile(r"[A-Za-z0-9.^~<>=|*+ -]{0,200}")
_INTEGRITY = re.compile(r"sha(?:512|384|256|1)-[A-Za-z0-9+/=]{20,}(?: sha[0-9]+-[A-Za-z0-9+/=]{20,})*")


@dataclass(frozen=True, slots=True)
class NodeProject:
    """A folder of a skill with a `package.json`, or the skill's own, and the scripts beneath it."""

    folder: str
    """Beneath the skill; empty for the skill's own."""
    dependencies: Mapping[str, str]
    scripts: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()
    """Dependencies that come from a URL, a path or git, which are never taken."""
    undeclared: tuple[str, ...] = ()
    """Of the dependencies, those that scripts import and no `package.json` of the skill names."""
    author_lock: Mapping[str, Any] = field(default_factory=dict)
    """The skill's own `package-lock.json`."""

    @property
    def requirements(self) -> list[str]:
        return [f"{name}@{versions}" for name, versions in sorted(self.dependencies.items())]


def node_projects(files: Mapping[str, bytes], scripts: Iterable[str]) -> list[NodeProject]:
    """Return the packages that scripts need, by the folder in which they look for them."""
    above: dict[str, list[str]] = {}
    folders = [path.rpartition("/")[0] for path in files if _is_package(path)]
    for script in sorted(scripts):
        if language_of(script, files.get(script, b"")) == NODE:
            above.setdefault(nearest_folder(script, folders) or "", []).append(script)
    found = (_project(folder, files, tuple(started)) for folder, started in sorted(above.items()))
    return [project for project in found if project.dependencies or project.elsewhere]


def nearest_folder(script: str, folders: Iterable[str]) -> str | None:
    """Return the one of `folders` that Node.js searches first for the imports of `script`."""
    parts = script.split("/")[:-1]
    wanted = set(folders)
    ancestors = ("/".join(parts[:length]) for length in range(len(parts), -1, -1))
    return next((folder for folder in ancestors if folder in wanted), None)


def node_projects_of(skill: SkillMetadata) -> list[NodeProject]:
    """Return the projects of a skill on disk."""
    scripts = [script.relative_path for script in find_scripts(skill)]
    if not any(script.endswith(NODE_SUFFIXES) or "." not in script for script in scripts):
        return []
    return node_projects(read_files(skill.base_dir, scripts, (*NODE_SUFFIXES, ".json"), _MAX_FILE), scripts)


def _is_package(path: str) -> bool:
    return path.rpartition("/")[2] == PACKAGE_FILE and "node_modules" not in path.split("/")


def _project(folder: str, files: Mapping[str, bytes], scripts: tuple[str, ...]) -> NodeProject:
    prefix = f"{folder}/" if folder else ""
    data = _object(files.get(f"{prefix}{PACKAGE_FILE}", b""))
    taken: dict[str, str] = {}
    elsewhere = []
    for section in ("dependencies", "optionalDependencies"):
        named = data.get(section)
        for name, versions in named.items() if isinstance(named, dict) else ():
            if not _NAME.fullmatch(name) or not isinstance(versions, str) or len(name) > 214:
                elsewhere.append(name[:100])
            elif _VERSIONS.fullmatch(versions):
                taken[name] = versions
            else:
                elsewhere.append(f"{name}@{versions[:100]}")
    imported = {name for script in scripts for name in node_packages_of(script, files)}
    known = {*taken, *(each.partition("@")[0] if each[:1] != "@" else each for each in elsewhere)}
    own = data.get("name")
    undeclared = sorted(imported - known - {own if isinstance(own, str) else ""})
    taken |= dict.fromkeys(undeclared, "*")
    if len(taken) > _MAX_DEPENDENCIES:
        elsewhere.append(f"{len(taken)} dependencies, more than {_MAX_DEPENDENCIES}")
        taken = {}
    lock = _object(files.get(f"{prefix}{_LOCK_FILE}", b""))
    return NodeProject(folder, taken, scripts, tuple(elsewhere), tuple(undeclared), lock)


def _object(content: bytes) -> dict[str, Any]:
    if len(content) > _MAX_FILE:
        return {}
    try:
        data = parse_json(content)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def check_lock(lock: Any) -> None:
    """Raise DependencyError for a lock that names anything but packages of the registry by integrity."""
    packages = lock.get("packages") if isinstance(lock, dict) else None
    if not isinstance(packages, dict) or "" not in packages:
        raise DependencyError("npm made a lock that cannot be read; a newer npm is needed")
    for place, entry in packages.items():
        if not place:
            continue
        plain = place.startswith(f"{MODULES}/") and ".." not in place.split("/")
        known = entry.get("inBundle") or _INTEGRITY.fullmatch(str(entry.get("integrity", "")))
        if not plain or not known or entry.get("link") or "resolved" in entry:
            raise DependencyError(f"The package {place[:200]} comes from elsewhere than the registry")


def locked_names(locks: str) -> list[str]:
    """Return the packages of accepted locks, each once, as `name@version`."""
    found = {
        f"{place.rpartition(f'{MODULES}/')[2]}@{entry.get('version')}"
        for lock in (parse_json(locks) if locks else {}).values()
        for place, entry in lock["packages"].items()
        if place
    }
    return sorted(found)
