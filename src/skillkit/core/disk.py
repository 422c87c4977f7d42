"""Writing that survives a crash: everything is on the disk before a name points at it."""

import fcntl
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from skillkit.core.exceptions import StateFileError
from skillkit.core.foreign_json import read_json

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY = re.compile(r"\.[A-Za-z0-9_.-]+\.[0-9a-f]{16}")


def user_home() -> Path:
    """Return the home of the user; for a user without one, a folder that does not exist.

    `~` would be looked for in the working folder, where others may have put one.
    """
    home = os.path.expanduser("~")
    return Path("/nonexistent" if home.startswith("~") else home).absolute()


def agent_home() -> Path:
    """`~/.agent`, or where AGENT_HOME moves it; absolute."""
    moved = os.environ.get("AGENT_HOME")
    return Path(os.path.expanduser(moved)).absolute() if moved else user_home() / ".agent"


def real_path(path: Path | str) -> Path:
    """Return `path` without links; no error for a link loop, an unreadable link or one that just vanished."""
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return Path(os.path.abspath(path))


def file_stamp(path: Path) -> tuple[int, ...] | None:
    """Return a stamp that changes whenever the file does; None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def writable_folder(home: Path) -> Path:
    """Return `home`, or where it cannot be written a private folder among the temporary ones."""
    existing = next(path for path in (home, *home.parents) if path.exists())
    with suppress(OSError), tempfile.TemporaryFile(dir=existing):  # root has access to what nobody can write
        return home
    own = Path(tempfile.gettempdir()) / f"skillkit-{os.geteuid()}"
    with suppress(FileExistsError):
        own.mkdir(mode=0o700)
    found = own.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return own if is_ours else Path(tempfile.mkdtemp(prefix="skillkit-"))


def unreachable(path: Path) -> Path | None:
    """Return the path component that other users cannot read; None if they can read `path`."""
    real = real_path(path)
    for parent in real.parents:
        if not parent.stat().st_mode & stat.S_IXOTH:
            return parent
    mode = real.stat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return real if mode & wanted != wanted else None


def write_new(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a new file, complete and synced to disk."""
    descriptor = os.open(path, _NEW, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Sync the names in a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace `path` atomically: it holds its old content or `data` at every instant."""
    temporary = temporary_beside(path)
    try:
        write_new(temporary, data, mode)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def replace_link(path: Path, target: str) -> None:
    """Replace a link atomically: it leads to its old target or to `target` at every instant."""
    temporary = temporary_beside(path)
    os.symlink(target, temporary)
    os.replace(temporary, path)
    sync_folder(path.parent)


def temporary_beside(path: Path) -> Path:
    """Return a temporary name beside `path`; `clear_temporary` removes what is left under it."""
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}")


def clear_temporary(folder: Path, of: str = "") -> None:
    """Delete the temporary files of killed writers in `folder`; call it with the lock held.

    Where several files have locks of their own, `of` is the name of the one whose lock is held.
    """
    for name in os.listdir(folder):
        if _TEMPORARY.fullmatch(name) and name.startswith(f".{of}"):
            remove_tree(folder / name)


def make_folder(path: Path) -> None:
    """Create a folder and its parents and sync them; the agent's home gets mode 0700."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700 if path == agent_home() else 0o755)
    sync_folder(path.parent)


def close_home() -> None:
    """Restrict the agent home to its owner (mode 0700)."""
    with suppress(OSError):
        status = os.lstat(agent_home())
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and status.st_mode & 0o077:
            os.chmod(agent_home(), 0o700)


def open_private(path: Path) -> None:
    """Create a file if it is missing, with mode 0600."""
    make_folder(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    os.chmod(path, 0o600)


def remove_tree(path: Path) -> None:
    """Delete a folder with its content, however deep; links are deleted, never followed."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        os.unlink(path)
        return
    with suppress(OSError):  # an empty one needs no descriptor: there may be none left
        os.rmdir(path)
        return
    os.chmod(path, 0o700)
    here = os.open(path, _FOLDER)
    above: list[tuple[str, list[str]]] = []
    try:
        left = _emptied(here)
        while left or above:
            if left:
                above.append((left.pop(), left))
                os.chmod(above[-1][0], 0o700, dir_fd=here)
                here = _moved(here, above[-1][0])
                left = _emptied(here)
            else:
                here = _moved(here, "..")
                name, left = above.pop()
                os.rmdir(name, dir_fd=here)
    finally:
        os.close(here)
    os.rmdir(path)


def _moved(folder: int, name: str) -> int:
    """Open a folder by its name in another one, whose descriptor is closed."""
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    os.close(folder)
    return descriptor


def _emptied(folder: int) -> list[str]:
    """Delete the files of an open folder; return the names of its folders."""
    folders = []
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders


@contextmanager
def locked(
    path: Path, on_wait: Callable[[], object] = lambda: None, *, patience: float | None = None
) -> Iterator[None]:
    """Hold the lock that every writer takes; the kernel lets go of it when a process dies.

    After `patience` seconds StateFileError names the process that holds it, which may have been stopped.
    """
    make_folder(path.parent)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                on_wait()
                _wait(path, descriptor, patience)
            if _is_at(path, descriptor):  # else somebody deleted the file, and others lock a new one
                os.truncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                yield
                return
        finally:
            os.close(descriptor)


def _wait(path: Path, descriptor: int, patience: float | None) -> None:
    if patience is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    deadline = time.monotonic() + patience
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= deadline:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise StateFileError(
                f"{path} is held by the process {holder}, which did not release it within "
                f"{patience:g} seconds. If it is stopped, resume or end it; nothing was changed."
            )
        time.sleep(0.05)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


class DamagedFileError(Exception):
    """The file exists and is damaged; the message says how."""


class JsonFile:
    """A versioned JSON object on disk."""

    def __init__(self, path: Path, version: int, error: type[StateFileError] = StateFileError) -> None:
        self.path = path
        self.version = version
        self.error = error

    def read(self) -> dict[str, Any] | None:
        """Return the content; None if there is no file.

        Raises DamagedFileError, or StateFileError for a file of a newer skillkit.
        """
        try:
            content = read_json(self.path)
        except (FileNotFoundError, NotADirectoryError):  # a home such as /dev/null holds nothing
            return None
        except OSError as error:
            raise self.error(f"Cannot read {self.path}: {error.strerror}") from error
        except ValueError as error:
            raise DamagedFileError(f"not JSON ({type(error).__name__})") from error
        version = content.get("version") if isinstance(content, dict) else None
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise DamagedFileError("without a version")
        if version > self.version:
            raise self.error(
                f"{self.path} was written by a newer skillkit (format {version}). "
                "Update skillkit; the file is left as it is."
            )
        return dict(content)

    def write(self, content: dict[str, Any]) -> None:
        data = json.dumps({"version": self.version, **content}, indent=1, sort_keys=True) + "\n"
        make_folder(self.path.parent)
        replace_file(self.path, data.encode(), 0o600)

    def set_aside(self) -> Path:
        """Rename a damaged file, which is kept."""
        aside = self._free("damaged")
        os.rename(self.path, aside)
        sync_folder(self.path.parent)
        return aside

    def keep_copy(self, word: str) -> Path:
        """Keep the current content under a second name before it is replaced."""
        copy = self._free(word)
        os.link(self.path, copy)
        sync_folder(self.path.parent)
        return copy

    def _free(self, word: str) -> Path:
        for number in range(1, 1000):
            path = self.path.with_name(f"{self.path.name}.{word}-{number}")
            if not os.path.lexists(path):
                return path
        raise self.error(f"Too many copies beside {self.path} called {word}; delete some")
