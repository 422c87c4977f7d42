"""An archive of skills: a .zip or .tar.gz on this machine or behind an address."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from skillkit.core.limits import DOWNLOAD_BYTES
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import SourceError
from skillkit.install.sources.files import OpenFiles
from skillkit.install.sources.source import Access, OpenSource, Source, check_address

_ENDINGS = (".zip", ".tar.gz", ".tgz", ".skill")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ArchiveSource(Source):
    """An archive, the digest it must have if one was given, and where in it to look."""

    kind: ClassVar[str] = "archive"
    form: ClassVar[str] = "a .zip or .tar.gz by path or https:// address"

    place: str
    """An address, or the absolute path of a file."""
    digest: str | None = None
    """`sha256:…` of the archive itself."""
    path: str = ""

    def __post_init__(self) -> None:
        if self.digest is not None and not _DIGEST.fullmatch(self.digest):
            shown = escape_hidden(self.digest[:80])
            raise SourceError(f"'{shown}' is not a digest; write sha256: and 64 hexadecimal digits")

    @classmethod
    def parse(cls, text: str) -> "ArchiveSource | None":
        place, _, fragment = text.partition("#")
        if not place.lower().endswith(_ENDINGS):
            return None
        digest = fragment.replace("sha256=", "sha256:") or None
        if "://" in place:
            return cls(check_address(place), digest)
        if not place.startswith(("/", "./", "../", "~/")):
            return None
        file = Path(os.path.expanduser(place))
        if file.is_dir():
            return None
        if not file.is_file():
            raise SourceError(f"There is no file '{escape_hidden(place)}'")
        return cls(str(file.absolute()), digest)

    @property
    def location(self) -> str:
        return self.place

    @property
    def pinned(self) -> bool:
        return self.digest is not None

    @property
    def portable(self) -> bool:
        return "://" in self.place

    @property
    def follows(self) -> str | None:
        return None if self.pinned else "what the address holds"

    @property
    def root_name(self) -> str:
        name = self.place.rpartition("/")[2]
        return next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)

    def at(self, version: str) -> "ArchiveSource":
        return replace(self, digest=version)

    def __str__(self) -> str:
        digest = f"#{self.digest}" if self.digest else ""
        return escape_hidden(f"{self.place}{digest}" + (f" ({self.path})" if self.path else ""))

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        from skillkit.install.sources.download import download
        from skillkit.install.sources.unpack import unpack

        if "://" in self.place:
            data = download(self.place, access)
        else:
            with open(self.place, "rb") as file:
                data = file.read(DOWNLOAD_BYTES + 1)
        if len(data) > DOWNLOAD_BYTES:
            raise SourceError(f"{escape_hidden(self.place)} is larger than {DOWNLOAD_BYTES:,} bytes")
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        if self.digest is not None and self.digest != digest:
            raise SourceError(f"{escape_hidden(self.place)} does not match the digest: it has {digest}")
        yield OpenFiles(self, unpack(data, escape_hidden(self.place)), digest)
