"""Python environments for scripts: locked by hash, built once, named by content, never written again."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillkit.core import process
from skillkit.core.disk import remove_tree, replace_file
from skillkit.core.extras import pip_install
from skillkit.core.folder_cache import FolderCache
from skillkit.core.pythons import Python, find_python
from skillkit.scripts.capture import Cancellation
from skillkit.scripts.distributions import normalised
from skillkit.scripts.exceptions import CancelledError, DependencyError
from skillkit.scripts.inline_metadata import InlineMetadata
from skillkit.scripts.uv import find_uv, uv_settings

_FORMAT = "skillkit environment 1"
_RESOLVE_SECONDS = 300.0
_DAY = 86_400.0
_ENTRY = re.compile(r"^\S[^\n]*\n?(?:[ \t]+[^\n]*\n?)*", re.MULTILINE)
"""A package of a lock: a line, and those below it that are indented."""
_UV_OPTIONS = ("-q", "--no-progress", "--color", "never", "--no-python-downloads")


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder with an interpreter and the packages of one lock, readable and nothing else."""

    folder: Path
    python: Python

    @property
    def program(self) -> Path:
        return self.folder / "bin" / "python"


def say_on_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class EnvironmentStore:
    """All environments beneath one folder; safe for many threads and processes."""

    def __init__(self, folder: Path, progress: Callable[[str], None] = say_on_stderr) -> None:
        self.folder = folder
        self._progress = progress
        self._locks = folder / "locks"
        self._cache = FolderCache(folder, in_turn=True)

    @contextlib.contextmanager
    def in_use(
        self,
        script: Path,
        metadata: InlineMetadata,
        *,
        source_builds: bool = False,
        other_sources: bool = False,
        lock: str = "",
        reachable: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Environment]:
        """The environment for a script, built if it is the first to ask for it; `collect` stays away from it.

        `lock` is what the user accepted: it adds packages that the script does not declare itself and
        replaces none. `reachable` wants an interpreter that any user can read. Raises DependencyError with
        the reason. An environment that exists costs two file reads and never touches the network.
        """
        python = _find_python(script.name, metadata, reachable=reachable)
        if metadata.other_sources and not other_sources:
            raise DependencyError(
                f"{script.name} asks for {metadata.other_sources[0]}; only the index this machine is "
                "set up with is used, unless you allow other sources for this version of the skill"
            )
        build = _Build(script, metadata, python, self.folder, source_builds, other_sources, cancellation)
        if metadata.dependencies:
            lock = _add_to_lock(self._lock(build), lock)
        text = "\n".join((_FORMAT, python.identity, lock))
        name = hashlib.sha256(text.encode()).hexdigest()
        with self._cache.lease(name, lambda folder: build.fill(folder, lock)) as folder:
            yield Environment(folder, python)

    def lock(self, name: str, metadata: InlineMetadata) -> str:
        """Return every package that `metadata` needs, by version and hash, wheels only.

        `name` is for messages. Raises DependencyError with the reason.
        """
        python = _find_python(name, metadata, reachable=False)
        if metadata.other_sources:
            raise DependencyError(
                f"Only names and versions are accepted for {name}: {metadata.other_sources[0]}"
            )
        return _Build(Path(name), metadata, python, self.folder).compile()

    def collect(self, older_than: float = 30 * _DAY) -> list[Path]:
        """Remove the environments unused for `older_than` seconds; return their names."""
        removed = self._cache.collect(older_than=older_than)
        for cache in ("uv-cache", "npm-cache"):
            shutil.rmtree(self.folder / cache, ignore_errors=True)
        return removed

    def _lock(self, build: "_Build") -> str:
        path = self._locks / f"{build.key()}.txt"
        if path.exists():
            return path.read_text(encoding="utf-8")
        with self._cache.alone(path.name):
            if path.exists():
                return path.read_text(encoding="utf-8")
            wanted = ", ".join(build.metadata.dependencies)
            self._progress(f"Resolving the dependencies of {build.script.name}: {wanted}")
            lock = build.compile()
            replace_file(path, lock.encode())
            return lock


def _find_python(name: str, metadata: InlineMetadata, *, reachable: bool) -> Python:
    python = find_python(metadata.requires_python, reachable=reachable)
    if python is None:
        wanted = metadata.requires_python
        raise DependencyError(f"{name} requires Python {wanted}; no matching interpreter found")
    return python


@dataclass(slots=True)
class _Build:
    """One resolution and installation by uv."""

    script: Path
    metadata: InlineMetadata
    python: Python
    store: Path
    source_builds: bool = False
    other_sources: bool = False
    cancellation: Cancellation | None = None

    def key(self) -> str:
        """Everything the resolution depends on, apart from the current content of the index."""
        parts = {
            "dependencies": sorted(self.metadata.dependencies),
            "exclude_newer": self.metadata.exclude_newer,
            "python": self.python.identity,
            "allowances": [self.source_builds, self.other_sources],
        }
        if self.metadata.other_sources:
            parts["script"] = self.script.read_text(encoding="utf-8")
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def compile(self) -> str:
        """Return the lock: every package by version and hash."""
        with tempfile.TemporaryDirectory(prefix="skillkit-lock-") as folder:
            output = Path(folder) / "lock.txt"
            source = self.script
            options = ["--no-header", "--no-annotate", "--no-strip-markers", "-o", str(output)]
            if self.metadata.exclude_newer:
                options += ["--exclude-newer", self.metadata.exclude_newer]
            if not self.metadata.other_sources:
                source = Path(folder) / "requirements.in"
                source.write_text("\n".join(self.metadata.dependencies) + "\n")
                options += ["--no-sources", "--generate-hashes"]
            self._uv("compile", *options, str(source), folder=folder)
            return output.read_text(encoding="utf-8")

    def fill(self, folder: Path, lock: str) -> None:
        """Make `folder` an environment with the packages of `lock`."""
        packages = folder / "lib" / f"python{self.python.version}" / "site-packages"
        packages.mkdir(parents=True)
        (folder / "bin").mkdir()
        for name in ("python", "python3"):
            (folder / "bin" / name).symlink_to(self.python.program)
        if lock:
            self._install(lock, packages)
        configuration = f"home = {self.python.program.parent}\ninclude-system-site-packages = false\n"
        (folder / "pyvenv.cfg").write_text(configuration)
        make_folder_read_only(folder)

    def _install(self, lock: str, target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="skillkit-lock-") as folder:
            requirements = Path(folder) / "lock.txt"
            requirements.write_text(lock, encoding="utf-8")
            options = ["--no-deps", "--link-mode", "copy", "--target", str(target), "--compile-bytecode"]
            if not self.metadata.other_sources:
                options.append("--require-hashes")
            self._uv("install", *options, "-r", str(requirements), folder=folder)
        (target / ".lock").unlink(missing_ok=True)

    def _uv(self, verb: str, *options: str, folder: str) -> None:
        uv = find_uv()
        if uv is None:
            raise DependencyError(
                f"{self.script.name} has dependencies, but uv is not installed: {pip_install('scripts')}"
            )
        cache = self.store / "uv-cache"
        claim_cache(cache)
        settings = uv_settings()
        places = ("--python", str(self.python.program), "--cache-dir", str(cache))
        builds = () if self.source_builds else ("--no-build",)
        command = (*uv, "pip", verb, *settings.options, *_UV_OPTIONS, *places, *builds, *options)
        said = run_manager(command, Path(folder), settings.environment, self.cancellation)
        if said is None:
            return
        wanted = ", ".join(self.metadata.dependencies)
        reason = f"The dependencies of {self.script.name} ({wanted}) cannot be installed: {said}"
        if "no-build" in said or "building source distributions is disabled" in said.lower():
            reason += (
                "\nBuilding from source would run the package's code on this machine; it is refused "
                "unless you allow source builds for this version of the skill"
            )
        raise DependencyError(reason)


def _add_to_lock(lock: str, further: str) -> str:
    """Return `lock` plus the packages of `further` that it does not contain."""
    entries = [entry for entry in _ENTRY.findall(further) if not entry.startswith("#")]
    known = {normalised(entry) for entry in _ENTRY.findall(lock)}
    return "".join((lock, *(entry for entry in entries if normalised(entry) not in known)))


def run_manager(
    command: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    cancellation: Cancellation | None,
) -> str | None:
    """Run a package manager; return why it failed, None when it did not. Raises CancelledError."""
    ended = process.run(
        command, environment=environment, cwd=folder, timeout=_RESOLVE_SECONDS, stop=cancellation, memory=None
    )
    if cancellation is not None and cancellation.is_set():
        raise CancelledError("The preparation of the environment was cancelled")
    if ended.code == 0 and not ended.stopped:
        return None
    return ended.complaint.strip()[-2000:] or ended.stopped or f"exit code {ended.code}"


def claim_cache(cache: Path) -> None:
    """Make sure that the packages in a cache were put there by us: uv uses its own without checking."""
    with contextlib.suppress(FileExistsError):
        cache.mkdir(mode=0o700, parents=True)
    found = cache.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise DependencyError(f"{cache} is a link or belongs to another user; remove it and try again")
    if found.st_mode & 0o022:
        remove_tree(cache)
        cache.mkdir(mode=0o700)


def make_folder_read_only(folder: Path) -> None:
    for where, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(where, name)
            if not os.path.islink(path):
                executable = os.stat(path).st_mode & stat.S_IXUSR
                os.chmod(path, 0o555 if executable else 0o444)
        os.chmod(where, 0o755 if where == os.fspath(folder) else 0o555)
