"""A folder that lasts and a shell in it, in the sandbox: a framework's workspace or environment."""

import os
import shlex
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from threading import Lock
from uuid import uuid4

from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import real_path, remove_tree
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Grants, Limits
from skillkit.core.path_resolver import open_beneath, safe_parts
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult, ScriptRunner
from skillkit.scripts.runners import default_runner

NAME = "workspace"
MAX_FILE = 64 << 20
NOT_RUN = frozenset({Outcome.REFUSED, Outcome.DEPENDENCY, Outcome.BROKEN, Outcome.LOST})
"""Outcomes caused by the workspace, not the command."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class SandboxedWorkspace:
    """Commands of a model in a sandbox, with one folder that they share and that is theirs to write.

    Nothing happens before the first use. `runner` says where commands run (unless given, where
    SKILLKIT_RUNNER says); a fleet needs a `folder` that all its machines share. `grants` is what commands
    get besides the folder: nothing, unless given.
    """

    def __init__(
        self,
        runner: ScriptRunner | None = None,
        *,
        folder: Path | None = None,
        grants: Grants | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.runner = runner
        self._place = folder
        self._grants = grants or Grants()
        self.limits = limits or self._grants.limits or Limits.from_environment()
        self._making = Lock()
        self._made: Path | None = None

    @property
    def folder(self) -> Path:
        """The working folder of commands, on this machine and in the sandbox; created on first access."""
        return self._scratch / "work"

    def close(self) -> None:
        """Remove the folder and its content."""
        with self._making:
            made, self._made = self._made, None
        if made is not None:
            remove_tree(made)

    async def run(
        self,
        command: str | Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> ScriptResult:
        """Run a shell command, or a program with its arguments, in the folder."""
        line = command if isinstance(command, str) else shlex.join(command)
        if "\0" in line:
            return ScriptResult(Outcome.REFUSED, "", message="A command cannot contain a NUL character")
        scratch, grants = self._scratch, self._grants
        if self.runner is None:
            self.runner = default_runner()
        request = ScriptRequest(
            skill=NAME,
            base_dir=scratch / "tree",
            digest=tree_digests.with_links(scratch / "tree").digest,
            script="",
            command=f"cd -- {shlex.quote(str(self.folder))} || exit 126\n{line}",
            limits=self.limits if seconds is None else replace(self.limits, timeout=seconds),
            environment=dict(environment or {}),
            network=grants.network,
            hosts=grants.hosts,
            private_hosts=grants.private_hosts,
            read_paths=grants.read_paths,
            write_paths=(self.folder, *grants.write_paths),
            unsandboxed=grants.unsandboxed,
        )
        try:
            return await self.runner.arun(request)
        finally:
            open_to_all(self.folder)

    def read(self, path: str | PurePosixPath) -> bytes:
        """Return the content of a file of the folder; paths outside of it are refused."""
        with self._errors(path), open_beneath(self.folder, self._relative(path)) as descriptor:
            if (size := os.fstat(descriptor).st_size) > MAX_FILE:
                raise OSError(f"{path} has {size:,} bytes; the limit is {MAX_FILE:,}")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                return file.read(MAX_FILE)

    def write(self, path: str | PurePosixPath, data: bytes) -> None:
        """Replace a file of the folder as a whole, with the folders above it; no link is followed."""
        with self._errors(path):
            *above, name = safe_parts(self._relative(path), self.folder)
            with _parent(self.folder, above) as parent:
                temporary = f".{name[:64]}.{uuid4().hex}"
                descriptor = os.open(temporary, _NEW_FILE, 0o666, dir_fd=parent)
                try:
                    with os.fdopen(descriptor, "wb") as file:
                        file.write(data)
                        os.fchmod(file.fileno(), 0o666)
                    os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
                except BaseException:
                    os.unlink(temporary, dir_fd=parent)
                    raise

    @property
    def _scratch(self) -> Path:
        """A folder that nobody else may enter, so that its content can be open to the sandbox's user."""
        with self._making:
            if self._made is None:
                place = None if self._place is None else os.fspath(self._place)
                self._made = real_path(Path(tempfile.mkdtemp(prefix="skillkit-workspace-", dir=place)))
                (self._made / "tree").mkdir()
                (self._made / "work").mkdir()
                (self._made / "work").chmod(0o777)
            return self._made

    def _relative(self, path: str | PurePosixPath) -> str:
        """Return a path of the sandbox as one beneath the folder."""
        given = PurePosixPath(path)
        if given.is_absolute():
            try:
                given = given.relative_to(self.folder)
            except ValueError:
                raise PermissionError(f"{path} is outside the workspace {self.folder}") from None
        return str(given)

    @contextmanager
    def _errors(self, path: str | PurePosixPath) -> Iterator[None]:
        """Raise Python's own errors for a path; frameworks expect those."""
        try:
            yield
        except SkillsUseError as error:
            target = self.folder / self._relative(path)
            if not os.path.lexists(target):
                raise FileNotFoundError(f"No such file in the workspace: {path}") from error
            if target.is_dir() and not target.is_symlink():
                raise IsADirectoryError(f"A folder, not a file: {path}") from error
            raise PermissionError(str(error)) from error


@contextmanager
def _parent(root: Path, parts: Sequence[str]) -> Iterator[int]:
    """Open the folder `parts` beneath `root`; missing parts are created."""
    descriptor = os.open(root, _FOLDER)
    try:
        for part in parts:
            try:
                below = os.open(part, _FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                with suppress(FileExistsError):  # another file of the same folder is written at the same time
                    os.mkdir(part, 0o777, dir_fd=descriptor)
                below = os.open(part, _FOLDER, dir_fd=descriptor)
                os.fchmod(below, 0o777)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def open_to_all(root: Path) -> None:
    """Let the next command change the content of a folder: as root, each runs as a user of its own.

    Nothing runs in the folder any more, so what is looked at is what is changed.
    """
    if os.geteuid() != 0:
        return
    for _, folders, files, descriptor in os.fwalk(root, follow_symlinks=False):
        for name in (*folders, *files):
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
            wanted = mode | (0o777 if stat.S_ISDIR(mode) else 0o666)
            if wanted != mode and (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                os.chmod(name, stat.S_IMODE(wanted), dir_fd=descriptor)
