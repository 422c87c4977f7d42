"""Python environments for scripts: locked by hash, built once, named by content, never written again."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.disk import locked, remove_tree, replace_file
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.extras import pip_install
from skillkit.core.grants import Limits
from skillkit.core.pythons import Python, find_python
from skillkit.scripts.capture import Cancellation, run_to_end
from skillkit.scripts.distributions import normalised
from skillkit.scripts.inline_metadata import InlineMetadata
from skillkit.scripts.models import DependencyError, Outcome
from skillkit.scripts.sandbox.backend import Confinement, GroupRunning
from skillkit.scripts.uv import find_uv, uv_settings

_FORMAT = "skillkit environment 1"
_READY = "pyvenv.cfg"
_USED = "used"
_RESOLVE_SECONDS = 300.0
_DAY = 86_400.0
_ENTRY = re.compile(r"^\S[^\n]*\n?(?:[ \t]+[^\n]*\n?)*", re.MULTILINE)
"""A package of a lock: a line, and those below it that are indented."""
_UV_OPTIONS = ("-q", "--no-progress", "--color", "never", "--no-python-downloads")


class CancelledError(SkillsUseError):
    """The caller no longer wants the environment."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder with an interpreter and the packages of one lock, readable and nothing else."""

    folder: Path
    python: Python

    @property
    def program(self) -> Path:
        return self.folder / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Allowances:
    """What the user allowed for the digest of the skill that is asking."""

    source_builds: bool = False
    other_sources: bool = False


NO_ALLOWANCES = Allowances()


def say_on_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class EnvironmentStore:
    """All environments beneath one folder; safe for many threads and processes."""

    def __init__(self, folder: Path, progress: Callable[[str], None] = say_on_stderr) -> None:
        self.folder = folder
        self._progress = progress
        self._locks = folder / "locks"

    def prepare(
        self,
        script: Path,
        metadata: InlineMetadata,
        allowances: Allowances = NO_ALLOWANCES,
        *,
        lock: str = "",
        reachable: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Environment:
        """The environment for a script, built if it is the first to ask for it.

        `lock` is what the user accepted. Beside what the script declares itself it adds what that has not,
        and replaces nothing.

        `reachable` wants an interpreter that any user can read. Raises DependencyError with the
        reason. What is there already costs two file reads and never touches the network.
        """
        python = find_python(metadata.requires_python, reachable=reachable)
        if python is None:
            raise DependencyError(
                f"{script.name} requires Python {metadata.requires_python}, which is not here"
            )
        if metadata.other_sources and not allowances.other_sources:
            raise DependencyError(
                f"{script.name} asks for {metadata.other_sources[0]}; only the index this machine is "
                "set up with is used, unless you allow other sources for this version of the skill"
            )
        if not metadata and not lock:
            return self._built("", python, lambda _: None)
        building = _Building(
            script, metadata, allowances, python, self.folder / "uv-cache", cancellation=cancellation
        )
        if metadata:
            lock = add_to_lock(self._lock(building), lock)
        return self._built(lock, python, lambda folder: building.install(lock, folder))

    @contextlib.contextmanager
    def in_use(
        self,
        script: Path,
        metadata: InlineMetadata,
        allowances: Allowances = NO_ALLOWANCES,
        *,
        lock: str = "",
        reachable: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Environment]:
        """`prepare`, and `collect` stays away from the environment until the block is left."""
        while True:
            environment = self.prepare(
                script,
                metadata,
                allowances,
                lock=lock,
                reachable=reachable,
                cancellation=cancellation,
            )
            with hold_folder(environment.folder, _READY) as held:
                if held:
                    yield environment
                    return

    def lock(self, name: str, metadata: InlineMetadata, *, reachable: bool = False) -> str:
        """Return every package that `metadata` needs, by version and hash, wheels only.

        `name` is for messages. Raises DependencyError with the reason.
        """
        python = find_python(metadata.requires_python, reachable=reachable)
        if python is None:
            raise DependencyError(f"{name} requires Python {metadata.requires_python}, which is not here")
        if metadata.other_sources:
            raise DependencyError(
                f"Only names and versions are accepted for {name}: {metadata.other_sources[0]}"
            )
        cache = self.folder / "uv-cache"
        return _Building(Path(name), metadata, NO_ALLOWANCES, python, cache).compile()

    def collect(self, older_than: float = 30 * _DAY) -> list[Path]:
        """Remove the environments that nobody used for so many seconds; return which."""
        removed = []
        for folder in sorted(self.folder.glob("[0-9a-f]*")):
            try:
                descriptor = os.open(folder / _USED, os.O_RDWR | os.O_CLOEXEC)
            except OSError:
                continue
            with os.fdopen(descriptor):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                if time.time() - os.fstat(descriptor).st_mtime < older_than:
                    continue
                doomed = folder.with_name(f".removed-{folder.name}-{os.getpid()}")
                folder.rename(doomed)
            remove_folder(doomed)
            removed.append(folder)
        for left in (*self.folder.glob(".removed-*"), *self.folder.glob(".building-*")):
            if time.time() - left.stat().st_mtime > _DAY:
                remove_folder(left)
        for cache in ("uv-cache", "npm-cache"):
            shutil.rmtree(self.folder / cache, ignore_errors=True)
        return removed

    def _lock(self, building: "_Building") -> str:
        path = self._locks / f"{building.key()}.txt"
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            pass
        with self._alone(path.name):
            if path.exists():
                return path.read_text(encoding="utf-8")
            wanted = ", ".join(building.metadata.dependencies)
            self._progress(f"Resolving the dependencies of {building.script.name}: {wanted}")
            lock = building.compile()
            replace_file(path, lock.encode())
            return lock

    def _built(self, lock: str, python: Python, fill: Callable[[Path], None]) -> Environment:
        text = "\n".join((_FORMAT, python.identity, lock))
        name = hashlib.sha256(text.encode()).hexdigest()
        environment = Environment(self.folder / name, python)
        if (environment.folder / _READY).exists():
            return environment
        with self._alone(name):
            if not (environment.folder / _READY).exists():
                self._build(environment, fill)
        return environment

    def _build(self, environment: Environment, fill: Callable[[Path], None]) -> None:
        python = environment.python
        scratch = Path(tempfile.mkdtemp(prefix=".building-", dir=self.folder))
        try:
            packages = scratch / "lib" / f"python{python.version}" / "site-packages"
            packages.mkdir(parents=True)
            (scratch / "bin").mkdir()
            for name in ("python", "python3"):
                (scratch / "bin" / name).symlink_to(python.program)
            fill(packages)
            (scratch / _USED).touch()
            configuration = f"home = {python.program.parent}\ninclude-system-site-packages = false\n"
            (scratch / _READY).write_text(configuration)
            make_folder_read_only(scratch)
            scratch.rename(environment.folder)
        except BaseException:
            remove_folder(scratch)
            raise

    def _alone(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Only one thread of one process makes the same thing."""
        return locked(self._locks / f".{name}.lock")


class _Building:
    """One resolution and installation by uv."""

    def __init__(
        self,
        script: Path,
        metadata: InlineMetadata,
        allowances: Allowances,
        python: Python,
        cache: Path,
        *,
        cancellation: Cancellation | None = None,
    ) -> None:
        self.script = script
        self.metadata = metadata
        self.allowances = allowances
        self.python = python
        self.cache = cache
        self.cancellation = cancellation

    def key(self) -> str:
        """Everything the resolution depends on, apart from what the index holds that day."""
        parts = {
            "dependencies": sorted(self.metadata.dependencies),
            "exclude_newer": self.metadata.exclude_newer,
            "python": self.python.identity,
            "allowances": [self.allowances.source_builds, self.allowances.other_sources],
        }
        if self.metadata.other_sources:
            parts["script"] = self.script.read_text(encoding="utf-8")
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def compile(self) -> str:
        """The lock: every package by version and hash."""
        with tempfile.TemporaryDirectory(prefix="skillkit-lock-") as folder:
            output = Path(folder) / "lock.txt"
            if self.metadata.other_sources:
                source = self.script
            else:
                source = Path(folder) / "requirements.in"
                source.write_text("\n".join(self.metadata.dependencies) + "\n")
            options = ["--no-header", "--no-annotate", "--no-strip-markers", "-o", str(output)]
            if self.metadata.exclude_newer:
                options += ["--exclude-newer", self.metadata.exclude_newer]
            if not self.metadata.other_sources:
                options += ["--no-sources", "--generate-hashes"]
            self._uv("compile", *self._builds(), *options, str(source), folder=folder)
            return output.read_text(encoding="utf-8")

    def install(self, lock: str, target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="skillkit-lock-") as folder:
            requirements = Path(folder) / "lock.txt"
            requirements.write_text(lock, encoding="utf-8")
            options = ["--no-deps", "--link-mode", "copy", "--target", str(target), "--compile-bytecode"]
            if not self.metadata.other_sources:
                options.append("--require-hashes")
            self._uv("install", *self._builds(), *options, "-r", str(requirements), folder=folder)
        (target / ".lock").unlink(missing_ok=True)

    def _builds(self) -> list[str]:
        return [] if self.allowances.source_builds else ["--no-build"]

    def _uv(self, verb: str, *options: str, folder: str) -> None:
        uv = find_uv()
        if uv is None:
            raise DependencyError(
                f"{self.script.name} has dependencies, but uv is not installed: {pip_install('scripts')}"
            )
        claim_cache(self.cache)
        settings = uv_settings()
        places = ("--python", str(self.python.program), "--cache-dir", str(self.cache))
        command = (*uv, "pip", verb, *settings.options, *_UV_OPTIONS, *places, *options)
        said = run_manager(command, Path(folder), settings.environment, self.cancellation)
        if said is not None:
            raise DependencyError(self._reason(said))

    def _reason(self, said: str) -> str:
        wanted = ", ".join(self.metadata.dependencies)
        reason = f"The dependencies of {self.script.name} ({wanted}) cannot be installed: {said}"
        if "no-build" in said or "building source distributions is disabled" in said.lower():
            reason += (
                "\nBuilding from source would run the package's code on this machine; it is refused "
                "unless you allow source builds for this version of the skill"
            )
        return reason


def add_to_lock(lock: str, further: str) -> str:
    """Return a lock with those packages of another one that it has not."""
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
    limits = Limits(timeout=_RESOLVE_SECONDS)
    running = GroupRunning.spawn([*command], Confinement(command, folder, environment, limits))
    own = cancellation or Cancellation()
    try:
        ended = run_to_end(running, limits, own)
    finally:
        if own is not cancellation:
            own.close()
    if ended.outcome is Outcome.CANCELLED:
        raise CancelledError("The preparation of the environment was cancelled")
    if ended.outcome is Outcome.EXITED and ended.exit_code == 0:
        return None
    said = ended.stderr.data.decode("utf-8", "replace").strip()[-2000:]
    return said or f"it ended with {ended.outcome.value}"


@contextlib.contextmanager
def hold_folder(folder: Path, ready: str) -> Iterator[bool]:
    """Keep `collect` away from a folder; False for one that was collected a moment ago, to be built again."""
    try:
        descriptor = os.open(folder / _USED, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    with os.fdopen(descriptor):
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        is_there = (folder / ready).exists()
        if is_there and time.time() - os.fstat(descriptor).st_mtime > _DAY:
            os.utime(descriptor)
        yield is_there


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
            if not os.path.islink(path) and name != _USED:
                executable = os.stat(path).st_mode & stat.S_IXUSR
                os.chmod(path, 0o555 if executable else 0o444)
        os.chmod(where, 0o755 if where == os.fspath(folder) else 0o555)


def remove_folder(folder: Path) -> None:
    for where, _, _ in os.walk(folder):
        os.chmod(where, 0o755)
    shutil.rmtree(folder, ignore_errors=True)
