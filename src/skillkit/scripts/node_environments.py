"""Packages of Node.js for scripts: locked by npm with integrity, installed once, never written again.

npm runs nothing of a package: neither its scripts nor git, and it sees a `package.json` of ours that holds
names and versions only.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from skillkit.core.folder_cache import FolderCache
from skillkit.core.foreign_json import parse_json, read_json
from skillkit.core.programs import find_program, safe_folders
from skillkit.scripts.capture import Cancellation
from skillkit.scripts.environments import (
    claim_cache,
    make_folder_read_only,
    run_manager,
    say_on_stderr,
)
from skillkit.scripts.exceptions import DependencyError
from skillkit.scripts.node_packages import MODULES, PACKAGE_FILE, NodeProject, check_lock, nearest_folder

_FORMAT = "skillkit node 1"
_LOCK_FILE = "package-lock.json"
_OPTIONS = (
    *("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev", "--no-bin-links"),
    *("--omit-lockfile-registry-resolved", "--install-links=false", "--loglevel=error", "--git=/bin/false"),
    *("--progress=false", "--workspaces=false", "--legacy-peer-deps=false"),
)


class NodeStore:
    """Folders of packages, one for each lock; safe for many threads and processes."""

    def __init__(self, folder: Path, progress: Callable[[str], None] = say_on_stderr) -> None:
        self.folder = folder
        self._progress = progress
        self._cache = FolderCache(folder, in_turn=True)

    def lock(self, project: NodeProject, before: str = "") -> dict[str, Any]:
        """Return every package that a project needs, by version and integrity; else DependencyError."""
        if project.elsewhere:
            raise DependencyError(
                f"Only names and versions are accepted, and {project.folder or 'the skill'}/{PACKAGE_FILE} "
                f"asks for {project.elsewhere[0]}"
            )
        with tempfile.TemporaryDirectory(prefix="skillkit-npm-") as scratch:
            folder = Path(scratch)
            _write_package(folder, project.dependencies)
            if author := _without_addresses(project.author_lock):
                (folder / _LOCK_FILE).write_text(json.dumps(author))
            dated = (f"--before={before}",) if before else ()
            self._npm(folder, "install", "--package-lock-only", *dated)
            lock: dict[str, Any] = read_json(folder / _LOCK_FILE)
        check_lock(lock)
        return lock

    @contextlib.contextmanager
    def in_use(
        self, locks: str, script: str, cancellation: Cancellation | None = None
    ) -> Iterator[Path | None]:
        """The `node_modules` for a script, installed if it is the first; None where none was accepted."""
        accepted: dict[str, Any] = parse_json(locks) if locks else {}
        folder = nearest_folder(script, accepted)
        if folder is None:
            yield None
            return
        lock = accepted[folder]
        check_lock(lock)
        text = json.dumps([_FORMAT, lock], sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()
        with self._cache.lease(name, lambda target: self._install(lock, target, cancellation)) as target:
            yield target / MODULES

    def _install(self, lock: Mapping[str, Any], target: Path, cancellation: Cancellation | None) -> None:
        self._progress(f"Installing packages of Node.js: {len(lock['packages']) - 1}")
        _write_package(target, lock["packages"][""].get("dependencies", {}))
        (target / _LOCK_FILE).write_text(json.dumps(lock))
        self._npm(target, "ci", cancellation=cancellation)
        (target / MODULES).mkdir(exist_ok=True)
        make_folder_read_only(target)

    def _npm(self, folder: Path, *words: str, cancellation: Cancellation | None = None) -> None:
        npm = find_program("npm", system_first=False)
        if npm is None:
            raise DependencyError(
                "The scripts need packages of Node.js, and the program 'npm' is not installed"
            )
        cache = self.folder / "npm-cache"
        claim_cache(cache)
        command = (npm, *words, *_OPTIONS, f"--cache={cache}")
        # npm is a script of Node.js, and no folder of a skill may say which.
        environment = {**os.environ, "PATH": os.pathsep.join(safe_folders())}
        environment = {name: value for name, value in environment.items() if name != "NODE_OPTIONS"}
        said = run_manager(command, folder, environment, cancellation)
        if said is not None:
            raise DependencyError(f"npm cannot get the packages: {said}")


def _without_addresses(lock: Mapping[str, Any]) -> dict[str, Any]:
    """Return an author's lock without its download addresses, which this machine decides."""
    packages = lock.get("packages")
    if not isinstance(packages, dict) or not all(isinstance(entry, dict) for entry in packages.values()):
        return {}
    if not all(entry.get("integrity") or entry.get("inBundle") for place, entry in packages.items() if place):
        return {}  # treated as missing
    kept = {
        place: {name: value for name, value in entry.items() if name != "resolved"}
        for place, entry in packages.items()
    }
    return {"lockfileVersion": 3, "requires": True, "packages": kept}


def _write_package(folder: Path, dependencies: Mapping[str, str]) -> None:
    data = {"name": "scripts", "version": "1.0.0", "private": True, "dependencies": dict(dependencies)}
    (folder / PACKAGE_FILE).write_text(json.dumps(data))
