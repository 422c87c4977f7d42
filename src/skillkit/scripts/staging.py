"""A readable copy of a skill for scripts that run as another user than the one who keeps it."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from skillkit.scripts.models import ScriptRequest
from skillkit.scripts.sandbox.backend import Backend, needs_reachable_files, unreachable


@contextmanager
def readable_skill(request: ScriptRequest, backend: Backend) -> Iterator[ScriptRequest]:
    """The request as it is, or over a copy of the skill if root keeps it where only root can read it."""
    if os.geteuid() != 0 or _everybody_can_read(request.base_dir, by_path=needs_reachable_files(backend)):
        yield request
        return
    folder = Path(tempfile.mkdtemp(prefix="skillkit-run-"))
    try:
        folder.chmod(0o755)
        copy = folder / request.base_dir.name
        shutil.copytree(request.base_dir, copy, symlinks=True)
        for where, _, files in os.walk(copy):
            os.chmod(where, 0o755)
            for name in files:
                path = os.path.join(where, name)
                mode = os.lstat(path).st_mode
                if stat.S_ISREG(mode):
                    os.chmod(path, 0o755 if mode & stat.S_IXUSR else 0o644)
        yield replace(request, base_dir=copy)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _everybody_can_read(base: Path, *, by_path: bool) -> bool:
    if by_path and unreachable(base) is not None:
        return False
    for where, _, files in os.walk(base):
        wanted = stat.S_IROTH | stat.S_IXOTH
        if os.stat(where).st_mode & wanted != wanted:
            return False
        for name in files:
            if not os.lstat(os.path.join(where, name)).st_mode & stat.S_IROTH:
                return False
    return True
