"""A Python package that carries skills, fetched as a wheel by the machine's own pip; nothing of it is run."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.sources.source import Access, OpenSource, Source, checked_path

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,99}")
_LATEST = "latest"
_DOWNLOAD = (
    *("download", "--quiet", "--disable-pip-version-check", "--no-input"),
    *("--no-deps", "--only-binary", ":all:"),
)
_MAX_WHEEL = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PypiSource(Source):
    """A package, the version that is followed, and where in it to look."""

    kind: ClassVar[str] = "pypi"
    form: ClassVar[str] = "pypi:package[==version]"

    package: str
    version: str = _LATEST
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> "PypiSource | None":
        if not text.startswith("pypi:"):
            return None
        name, _, version = text.removeprefix("pypi:").replace("@", "==").partition("==")
        return cls(_checked(_NAME, name), _checked(_VERSION, version or _LATEST))

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "PypiSource":
        path = checked_path(data.get("path", ""))
        return cls(_checked(_NAME, data["package"]), _checked(_VERSION, data["version"]), path)

    def to_data(self) -> dict[str, str]:
        return {"package": self.package, "version": self.version, "path": self.path}

    @property
    def location(self) -> str:
        return f"pypi:{self.package}"

    @property
    def follows(self) -> str:
        return self.version

    def at(self, version: str) -> "PypiSource":
        return replace(self, version=_checked(_VERSION, version))

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        from skillkit.install.sources.files import OpenFiles
        from skillkit.install.sources.unpack import unpack

        name, wheel = self._wheel(access)
        # name-version-tags.whl
        yield OpenFiles(self, unpack(wheel, str(self)), name.split("-")[1])

    def _wheel(self, access: Access) -> tuple[str, bytes]:
        """The package as a wheel, which is only unpacked: no build, no dependency, no import."""
        from skillkit.install.sources.process import FolderLimit, run

        access.progress(f"Fetching {self}")
        wanted = self.package if self.version == _LATEST else f"{self.package}=={self.version}"
        with tempfile.TemporaryDirectory(prefix="skillkit-pypi-") as place:
            folder = Path(place)
            answer = run(
                [sys.executable, "-m", "pip", *_DOWNLOAD, "--dest", place, wanted],
                environment=dict(os.environ),
                cwd=folder,
                send=b"",
                limit=1024 * 1024,
                timeout=access.timeout,
                watched=FolderLimit(folder, _MAX_WHEEL),
                stop=access.stop,
            )
            wheels = sorted(folder.glob("*.whl"))
            if answer.stopped or answer.code != 0 or len(wheels) != 1:
                lines = [line for line in answer.complaint.splitlines() if line.startswith("ERROR")]
                reason = answer.stopped or (lines[-1] if lines else f"pip ended with {answer.code}")
                raise NetworkError(f"{self} cannot be fetched: {escape_hidden(reason)[:300]}")
            return wheels[0].name, wheels[0].read_bytes()


def _checked(pattern: re.Pattern[str], text: Any) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise SourceError(f"'{escape_hidden(str(text)[:100])}' is not the name of a package or a version")
    return text
