"""An npm package that carries skills, fetched by the machine's own npm; nothing of it is run."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from skillkit.core.foreign_json import parse_json
from skillkit.core.process import ProgramOutput
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import SourceError
from skillkit.install.sources.files import OpenFiles
from skillkit.install.sources.package import FOLDER, LATEST, PackageSource, fetch_file
from skillkit.install.sources.source import Access, OpenSource
from skillkit.install.sources.unpack import unpack

_PACK = ("pack", "--ignore-scripts", "--silent", "--pack-destination", FOLDER, "--")


@dataclass(frozen=True, slots=True)
class NpmSource(PackageSource):
    """A package of npm."""

    kind: ClassVar[str] = "npm"
    form: ClassVar[str] = "npm:package[@version]"
    names: ClassVar[re.Pattern[str]] = re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*")
    versions: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,99}")

    @classmethod
    def parse(cls, text: str) -> "NpmSource | None":
        if not text.startswith("npm:"):
            return None
        name, at, version = text.removeprefix("npm:").rpartition("@")
        if not at or not name:
            name, version = text.removeprefix("npm:"), LATEST
        return cls(name, version)

    def __str__(self) -> str:
        inside = f" ({self.path})" if self.path else ""
        return escape_hidden(f"{self.location}@{self.version}{inside}")

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        files = {
            path.partition("/")[2]: file
            for path, file in unpack(_pack(self, access), str(self)).items()
            if "/" in path  # everything of a package is in one folder
        }
        manifest = files.get("package.json")
        try:
            version = str(parse_json(manifest.content)["version"]) if manifest else ""
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{self} has no package.json that can be read") from error
        yield OpenFiles(self, files, version or None)


def _pack(source: NpmSource, access: Access) -> bytes:
    """The package as npm hands it out: a .tgz, for which no script is run."""
    program = shutil.which("npm")
    if program is None:
        raise SourceError(f"npm is not installed, and {source} comes by it")
    command = [program, *_PACK, f"{source.package}@{source.version}"]
    return fetch_file(source, command, ".tgz", access, _complaint)[1]


def _complaint(answer: ProgramOutput) -> str:
    said = answer.complaint.strip() or answer.output.decode("utf-8", "replace")
    return next(iter(said.splitlines()), "")
