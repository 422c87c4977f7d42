"""A throw-away folder for one case, with the files that the case brings."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.core.exceptions import ConfigurationError
from skillkit.evaluation.cases import CaseFile
from skillkit.scripts.workspace import open_to_all

LARGEST = 64 << 20


@contextmanager
def workspace(files: Sequence[CaseFile], bases: Sequence[Path]) -> Iterator[Path]:
    """A new folder with copies of `files`, whose sources lie beneath one of `bases`; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="skill-case-") as name:
        folder = real_path(Path(name))
        for file in files:
            _place(file, folder, bases)
        if os.geteuid() == 0:
            folder.chmod(0o777)  # as root, scripts run in the sandbox as a user of their own
            open_to_all(folder)
        yield folder


def _place(file: CaseFile, folder: Path, bases: Sequence[Path]) -> None:
    target = folder / file.path
    if not real_path(target).is_relative_to(folder) or Path(file.path).is_absolute():
        raise ConfigurationError(f"The file '{file.path}' of a case would lie outside of its folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.content is not None:
        target.write_text(file.content, encoding="utf-8")
        return
    source = _source(file, bases)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=False)
    elif source.stat().st_size > LARGEST:
        raise ConfigurationError(f"The file '{file.source}' of a case is larger than {LARGEST:,} bytes")
    else:
        shutil.copyfile(source, target)


def _source(file: CaseFile, bases: Sequence[Path]) -> Path:
    """The file that a case names: beneath the skill, or beside the file of cases."""
    named = file.source or file.path
    for base in bases:
        found = real_path(base / named)
        if found.exists() and found.is_relative_to(real_path(base)):
            return found
    raise ConfigurationError(f"The file '{named}' of a case is not there")
