"""Packages of npm and PyPI with skills, fetched by npm and pip; none of their code is run."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

from skillkit.core.foreign_json import parse_json
from skillkit.core.process import FolderLimit, ProgramOutput, run
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.sources.files import OpenFiles
from skillkit.install.sources.source import Access, OpenSource, Source, checked_text
from skillkit.install.sources.unpack import unpack

_LATEST = "latest"
_FOLDER = "FOLDER"
"""Stands in a command for the folder that the file is put into."""
_MAX_FILE = 64 * 1024 * 1024
_NPM_PACK = ("pack", "--ignore-scripts", "--silent", "--pack-destination", _FOLDER, "--")
_PIP_DOWNLOAD = (
    *("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"),
    *("--no-deps", "--only-binary", ":all:", "--dest", _FOLDER),
)


@dataclass(frozen=True, slots=True)
class PackageSource(Source):
    """A package, the version or tag that is followed, and where in it to look."""

    names: ClassVar[re.Pattern[str]]
    versions: ClassVar[re.Pattern[str]]

    package: str
    version: str = _LATEST
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


@dataclass(frozen=True, slots=True)
class NpmSource(PackageSource):
    """A package of npm, as the .tgz from npm; no install script is run."""

    kind: ClassVar[str] = "npm"
    form: ClassVar[str] = "npm:package[@version]"
    names: ClassVar[re.Pattern[str]] = re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*")
    versions: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,99}")

    @classmethod
    def parse(cls, text: str) -> "NpmSource | None":
        if not text.startswith("npm:"):
            return None
        name, at, version = text.removeprefix("npm:").rpartition("@")
        return cls(name, version) if at and name else cls(text.removeprefix("npm:"))

    def __str__(self) -> str:
        inside = f" ({self.path})" if self.path else ""
        return escape_hidden(f"{self.location}@{self.version}{inside}")

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        program = shutil.which("npm")
        if program is None:
            raise SourceError(f"{self} requires npm, which is not installed")
        command = [program, *_NPM_PACK, f"{self.package}@{self.version}"]
        archive = _fetch_file(self, command, ".tgz", access, _npm_error)[1]
        files = {
            path.partition("/")[2]: file
            for path, file in unpack(archive, str(self)).items()
            if "/" in path  # everything of a package is in one folder
        }
        manifest = files.get("package.json")
        try:
            version = str(parse_json(manifest.content)["version"]) if manifest else ""
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{self} has no readable package.json") from error
        yield OpenFiles(self, files, version or None)


def _npm_error(answer: ProgramOutput) -> str:
    said = answer.complaint.strip() or answer.output.decode("utf-8", "replace")
    return next(iter(said.splitlines()), "")


@dataclass(frozen=True, slots=True)
class PypiSource(PackageSource):
    """A package of PyPI, as a wheel that is only unpacked: no build, no dependency, no import."""

    kind: ClassVar[str] = "pypi"
    form: ClassVar[str] = "pypi:package[==version]"
    names: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
    versions: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,99}")

    @classmethod
    def parse(cls, text: str) -> "PypiSource | None":
        if not text.startswith("pypi:"):
            return None
        name, _, version = text.removeprefix("pypi:").replace("@", "==").partition("==")
        return cls(name, version or _LATEST)

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        wanted = self.package if self.version == _LATEST else f"{self.package}=={self.version}"
        command = [sys.executable, *_PIP_DOWNLOAD, wanted]
        name, wheel = _fetch_file(self, command, ".whl", access, _pip_error)
        # name-version-tags.whl
        yield OpenFiles(self, unpack(wheel, str(self)), name.split("-")[1])


def _pip_error(answer: ProgramOutput) -> str:
    return next((line for line in reversed(answer.complaint.splitlines()) if line.startswith("ERROR")), "")


def _fetch_file(
    source: PackageSource,
    command: list[str],
    suffix: str,
    access: Access,
    explain: Callable[[ProgramOutput], str],
) -> tuple[str, bytes]:
    """Return the name and the bytes of the one file that `command` puts into `_FOLDER`."""
    access.progress(f"Fetching {source}")
    with tempfile.TemporaryDirectory(prefix=f"skillkit-{source.kind}-") as place:
        folder = Path(place)
        answer = run(
            [place if word == _FOLDER else word for word in command],
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
            reason = answer.stopped or explain(answer) or f"{source.kind} exited with {answer.code}"
            raise NetworkError(f"{source} cannot be fetched: {escape_hidden(reason)[:300]}")
        return files[0].name, files[0].read_bytes()
