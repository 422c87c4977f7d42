"""What sources of a package manager share: a package by name, and its own program that fetches a version."""

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from skillkit.core.process import FolderLimit, ProgramOutput, run
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.sources.source import Access, Source

LATEST = "latest"
FOLDER = "FOLDER"
"""Stands in a command for the folder that the file is put into."""
_MAX_FILE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PackageSource(Source):
    """A package, the version or tag that is followed, and where in it to look."""

    names: ClassVar[re.Pattern[str]]
    versions: ClassVar[re.Pattern[str]]

    package: str
    version: str = LATEST
    path: str = ""

    def __post_init__(self) -> None:
        checked_text(self.names, self.package, "the name of a package")
        checked_text(self.versions, self.version, "a version")

    @property
    def location(self) -> str:
        return f"{self.kind}:{self.package}"

    @property
    def follows(self) -> str:
        return self.version

    def at(self, version: str) -> Self:
        return replace(self, version=version)


def fetch_file(
    source: PackageSource,
    command: list[str],
    suffix: str,
    access: Access,
    explain: Callable[[ProgramOutput], str],
) -> tuple[str, bytes]:
    """Return the name and the bytes of the one file that `command` puts into `FOLDER`."""
    access.progress(f"Fetching {source}")
    with tempfile.TemporaryDirectory(prefix=f"skillkit-{source.kind}-") as place:
        folder = Path(place)
        answer = run(
            [place if word == FOLDER else word for word in command],
            environment=dict(os.environ),
            cwd=folder,
            send=b"",
            limit=1024 * 1024,
            timeout=access.timeout,
            watched=FolderLimit(folder, _MAX_FILE),
            stop=access.stop,
        )
        files = sorted(folder.glob(f"*{suffix}"))
        if answer.stopped or answer.code != 0 or len(files) != 1:
            reason = answer.stopped or explain(answer) or f"{source.kind} ended with {answer.code}"
            raise NetworkError(f"{source} cannot be fetched: {escape_hidden(reason)[:300]}")
        return files[0].name, files[0].read_bytes()


def checked_text(pattern: re.Pattern[str], text: Any, meaning: str) -> str:
    """Return a text that has the form it must have; raises SourceError for another."""
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise SourceError(f"'{escape_hidden(str(text)[:100])}' is not {meaning}")
    return text
