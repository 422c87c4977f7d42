"""A Python package that carries skills, fetched as a wheel by the machine's own pip; nothing of it is run."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from skillkit.core.process import ProgramOutput
from skillkit.install.sources.files import OpenFiles
from skillkit.install.sources.package import FOLDER, LATEST, PackageSource, fetch_file
from skillkit.install.sources.source import Access, OpenSource
from skillkit.install.sources.unpack import unpack

_DOWNLOAD = (
    *("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"),
    *("--no-deps", "--only-binary", ":all:", "--dest", FOLDER),
)


@dataclass(frozen=True, slots=True)
class PypiSource(PackageSource):
    """A package of PyPI."""

    kind: ClassVar[str] = "pypi"
    form: ClassVar[str] = "pypi:package[==version]"
    names: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
    versions: ClassVar[re.Pattern[str]] = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,99}")

    @classmethod
    def parse(cls, text: str) -> "PypiSource | None":
        if not text.startswith("pypi:"):
            return None
        name, _, version = text.removeprefix("pypi:").replace("@", "==").partition("==")
        return cls(name, version or LATEST)

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        """Open the package as a wheel, which is only unpacked: no build, no dependency, no import."""
        wanted = self.package if self.version == LATEST else f"{self.package}=={self.version}"
        name, wheel = fetch_file(self, [sys.executable, *_DOWNLOAD, wanted], ".whl", access, _complaint)
        # name-version-tags.whl
        yield OpenFiles(self, unpack(wheel, str(self)), name.split("-")[1])


def _complaint(answer: ProgramOutput) -> str:
    return next((line for line in reversed(answer.complaint.splitlines()) if line.startswith("ERROR")), "")
