"""An npm package that carries skills, fetched by the machine's own npm; nothing of it is run."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from skillkit.core.foreign_json import parse_json
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.sources.source import Access, OpenSource, Source, checked_path

_NAME = re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,99}")
_MAX_PACK = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NpmSource(Source):
    """A package, the version or tag that is followed, and where in it to look."""

    kind: ClassVar[str] = "npm"
    form: ClassVar[str] = "npm:package[@version]"

    package: str
    version: str = "latest"
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> "NpmSource | None":
        if not text.startswith("npm:"):
            return None
        name, at, version = text.removeprefix("npm:").rpartition("@")
        if not at or not name:
            name, version = text.removeprefix("npm:"), "latest"
        return cls(_checked(_NAME, name, "the name of a package"), _checked(_VERSION, version, "a version"))

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "NpmSource":
        name = _checked(_NAME, data["package"], "the name of a package")
        version = _checked(_VERSION, data["version"], "a version")
        return cls(name, version, checked_path(data.get("path", "")))

    def to_data(self) -> dict[str, str]:
        return {"package": self.package, "version": self.version, "path": self.path}

    @property
    def location(self) -> str:
        return f"npm:{self.package}"

    @property
    def follows(self) -> str:
        return self.version

    def at(self, version: str) -> "NpmSource":
        return replace(self, version=_checked(_VERSION, version, "a version"))

    def __str__(self) -> str:
        inside = f" ({self.path})" if self.path else ""
        return escape_hidden(f"{self.location}@{self.version}{inside}")

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        from skillkit.install.sources.files import OpenFiles
        from skillkit.install.sources.unpack import unpack

        files = {
            path.partition("/")[2]: file
            for path, file in unpack(self._pack(access), str(self)).items()
            if "/" in path  # everything of a package is in one folder
        }
        manifest = files.get("package.json")
        try:
            version = str(parse_json(manifest.content)["version"]) if manifest else ""
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{self} has no package.json that can be read") from error
        yield OpenFiles(self, files, version or None)

    def _pack(self, access: Access) -> bytes:
        """The package as npm hands it out: a .tgz, for which no script is run."""
        from skillkit.install.sources.process import FolderLimit, run

        program = shutil.which("npm")
        if program is None:
            raise SourceError(f"npm is not installed, and {self} comes by it")
        access.progress(f"Fetching {self}")
        with tempfile.TemporaryDirectory(prefix="skillkit-npm-") as place:
            folder = Path(place)
            wanted = f"{self.package}@{self.version}"
            answer = run(
                [program, "pack", "--ignore-scripts", "--silent", "--pack-destination", place, "--", wanted],
                environment=dict(os.environ),
                cwd=folder,
                send=b"",
                limit=1024 * 1024,
                timeout=access.timeout,
                watched=FolderLimit(folder, _MAX_PACK),
                stop=access.stop,
            )
            packs = sorted(folder.glob("*.tgz"))
            if answer.stopped or answer.code != 0 or len(packs) != 1:
                lines = (
                    answer.complaint.strip().splitlines()
                    or answer.output.decode("utf-8", "replace").splitlines()
                )
                reason = answer.stopped or (lines[0] if lines else f"npm ended with {answer.code}")
                raise NetworkError(f"{self} cannot be fetched: {escape_hidden(reason)[:300]}")
            return packs[0].read_bytes()


def _checked(pattern: re.Pattern[str], text: Any, what: str) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise SourceError(f"'{escape_hidden(str(text)[:100])}' is not {what}")
    return text
