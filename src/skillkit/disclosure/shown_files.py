"""Pictures and documents that a script made, for models that can look at them."""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

MAX_SHOWN = 5
MAX_BYTES = 3_500_000
"""Of one file: in base64 it is still less than what services take."""

_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file whose content goes to the model beside the text of a result."""

    name: str
    media_type: str
    content: bytes

    @property
    def is_picture(self) -> bool:
        return self.media_type.startswith("image/")

    @property
    def base64(self) -> str:
        """The content as text."""
        return base64.b64encode(self.content).decode("ascii")

    @property
    def data_url(self) -> str:
        """The content as an address."""
        return f"data:{self.media_type};base64,{self.base64}"


def read_shown(files: Iterable[Mapping[str, object]], kinds: Sequence[str]) -> tuple[ShownFile, ...]:
    """Return those of `files` that are of one of `kinds` (`image/*`, `application/pdf`), as models take them.

    What a file is, its first bytes say: a service refuses the whole request for a picture that is none. One
    that is too large, or no longer what the script made, is left to the program.
    """
    shown: list[ShownFile] = []
    for file in files:
        content = _content(file) if len(shown) < MAX_SHOWN else None
        media_type = media_type_of(content or b"")
        if content and media_type and any(fnmatchcase(media_type, kind) for kind in kinds):
            shown.append(ShownFile(str(file.get("name")), media_type, content))
    return tuple(shown)


def media_type_of(content: bytes) -> str | None:
    """Return what a file is that models can look at; None for any other."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS.items() if content.startswith(beginning)), None)


def _content(file: Mapping[str, object]) -> bytes | None:
    try:
        with open(str(file["path"]), "rb") as source:
            content = source.read(MAX_BYTES + 1)
    except (KeyError, OSError, ValueError):
        return None
    same = file.get("digest") == f"sha256:{hashlib.sha256(content).hexdigest()}"
    return content if same and len(content) <= MAX_BYTES else None
