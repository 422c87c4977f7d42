"""A temporary folder for one case, with the case's files."""

import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.core.limits import CASE_BYTES, CASE_FILES, TREE_DEPTH
from skillkit.core.path_resolver import open_file_at, open_folder, safe_parts
from skillkit.core.text import shown
from skillkit.evaluation.cases import CaseFile
from skillkit.scripts.workspace import open_to_all

_CHUNK = 1 << 20


@contextmanager
def workspace(files: Sequence[CaseFile], bases: Sequence[Path]) -> Iterator[Path]:
    """Yield a new folder with copies of `files`, whose sources lie beneath one of `bases`; delete it
    afterwards."""
    with tempfile.TemporaryDirectory(prefix="skill-case-") as name:
        folder = real_path(Path(name))
        inputs = _Inputs(folder)
        for file in files:
            try:
                inputs.place(file, bases)
            except OSError as error:
                raise ConfigurationError(f"A file of a case cannot be copied: {error}") from error
        if os.geteuid() == 0:
            folder.chmod(0o777)  # as root, the sandbox runs scripts as a separate user
            open_to_all(folder)
        yield folder


class _Inputs:
    """Copies regular files into `folder` by descriptor, and enforces limits while reading."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = CASE_FILES
        self.size = CASE_BYTES

    def place(self, file: CaseFile, bases: Sequence[Path]) -> None:
        parts = _parts(file.path, self.folder)
        if not parts and file.content is not None:
            raise ConfigurationError("A file of a case has no name")
        target = self.folder.joinpath(*parts)
        if file.content is not None:
            self._count_file(file.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            self._count_bytes(len(data := file.content.encode("utf-8", "replace")), file.path)
            target.write_bytes(data)
            return
        named = file.source or file.path
        for base in bases:
            with ExitStack() as stack:
                if (parent := _descend(stack, base, source := _parts(named, base))) is not None:
                    self._copy(parent, source[-1] if source else ".", target, named)
                    return
        raise ConfigurationError(f"The file '{shown(named)}' of a case was not found")

    def _copy(self, parent: int, name: str, target: Path, named: str, depth: int = 0) -> None:
        self._count_file(named)
        kind = os.lstat(name, dir_fd=parent).st_mode
        if stat.S_ISDIR(kind) and depth < TREE_DEPTH:
            target.mkdir(parents=True, exist_ok=True)
            with open_folder(name, beneath=parent) as folder:
                if folder is None:
                    raise ConfigurationError(f"'{shown(named)}' of a case cannot be opened")
                for entry in sorted(os.listdir(folder)):
                    self._copy(folder, entry, target / entry, f"{named}/{entry}", depth + 1)
        elif stat.S_ISREG(kind):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copy_bytes(open_file_at(name, parent), target, named)
        else:
            raise ConfigurationError(
                f"'{shown(named)}' of a case is a link, a device or too deep; only plain files are copied"
            )

    def _copy_bytes(self, descriptor: int, target: Path, named: str) -> None:
        with open(descriptor, "rb") as source, open(target, "wb") as copy:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigurationError(f"'{shown(named)}' of a case changed while it was copied")
            while block := source.read(_CHUNK):
                self._count_bytes(len(block), named)
                copy.write(block)

    def _count_file(self, named: str) -> None:
        self.files -= 1
        if self.files < 0:
            raise ConfigurationError(f"The files of a case are more than {CASE_FILES:,}: '{shown(named)}'")

    def _count_bytes(self, count: int, named: str) -> None:
        self.size -= count
        if self.size < 0:
            raise ConfigurationError(
                f"The files of a case are larger than {CASE_BYTES:,} bytes: '{shown(named)}'"
            )


def _parts(path: str, base: Path) -> list[str]:
    try:
        return safe_parts(path, base)
    except SkillsUseError as error:
        raise ConfigurationError(f"A file of a case lies outside of its folder: {error}") from error


def _descend(stack: ExitStack, base: Path, parts: Sequence[str]) -> int | None:
    """Return a descriptor of the folder that contains the last of `parts`; None if it is missing."""
    folder = stack.enter_context(open_folder(base))
    for part in parts[:-1]:
        if folder is not None:
            folder = stack.enter_context(open_folder(part, beneath=folder))
    if folder is not None:
        with suppress(OSError):
            os.lstat(parts[-1] if parts else ".", dir_fd=folder)
            return folder
    return None
