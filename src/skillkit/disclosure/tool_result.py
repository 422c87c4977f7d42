"""The result of a tool call: text for the model, whether it failed, and files for the model to view."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from skillkit.disclosure.fence import attribute, error_element, fenced, nonce_for

MAX_SHOWN = 5
MAX_BYTES = 3_500_000
"""Size limit of one file: encoded in base64 it stays below the limits of model services."""

_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file whose content is sent to the model beside the text of a result."""

    name: str
    media_type: str
    content: bytes

    @property
    def is_picture(self) -> bool:
        return self.media_type.startswith("image/")

    @property
    def base64(self) -> str:
        """Return the content in base64."""
        return base64.b64encode(self.content).decode("ascii")

    @property
    def data_url(self) -> str:
        """Return the content as a data URL."""
        return f"data:{self.media_type};base64,{self.base64}"


def read_shown(files: Iterable[Mapping[str, object]], kinds: Sequence[str]) -> tuple[ShownFile, ...]:
    """Read those of `files` whose media type matches `kinds` (`image/*`, `application/pdf`).

    The media type is detected from the first bytes: services reject a whole request for an invalid image. A
    file that is too large or has changed since the script wrote it is skipped.
    """
    shown: list[ShownFile] = []
    for file in files:
        content = _content(file) if len(shown) < MAX_SHOWN else None
        media_type = media_type_of(content or b"")
        if content and media_type and any(fnmatchcase(media_type, kind) for kind in kinds):
            shown.append(ShownFile(str(file.get("name")), media_type, content))
    return tuple(shown)


def media_type_of(content: bytes) -> str | None:
    """Return the media type of content that models can view; None for any other."""
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


_OUTPUT = re.compile(
    r'<skill_output tool="[^"]*">\n\[(?P<nonce>[0-9a-f]{16}) begin\]\n'
    r"(?P<text>.*)\n\[(?P=nonce) end\]\n(?:<error [^\n]*</error>\n)?</skill_output>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call.

    A handler that returns a ToolResult has written its own text; any other return value is third-party data,
    and only `from_data` converts such data to text for a model.
    """

    text: str
    """The text for the model."""
    failed: bool = False
    """Sets the error flag of each framework."""
    data: object = None
    """The handler's return value, if it was data."""
    shown: tuple[ShownFile, ...] = ()
    """Script outputs for the model to view, if the program enables that."""
    error: str = ""
    """The code of a refusal, for the journal."""

    @property
    def files(self) -> list[dict[str, object]]:
        """Files that a script made, for the program: name, bytes, media_type, digest, path and uri of
        each."""
        listed = self.data.get("files") if isinstance(self.data, Mapping) else None
        return [dict(file) for file in listed or () if isinstance(file, Mapping)]

    @classmethod
    def from_data(cls, tool: str, data: object) -> "ToolResult":
        """Fence `data` and remove hidden characters; `{"success": false}` is a failure."""
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
        failed = isinstance(data, Mapping) and data.get("success") is False
        fence = fenced(text, nonce_for(text))
        if isinstance(data, Mapping) and failed:
            fence += f"\n{error_element(str(data.get('error')), str(data.get('message')))}"
        return cls(f'<skill_output tool="{attribute(tool)}">\n{fence}\n</skill_output>', failed, data)

    @classmethod
    def failure(cls, tool: str, code: str, message: str) -> "ToolResult":
        """Return an error result."""
        return cls.from_data(tool, {"success": False, "error": code, "message": message})


def unfence(output: str) -> str | None:
    """Return the defanged text inside a complete `<skill_output>`; None for any other `output`."""
    found = _OUTPUT.fullmatch(output)
    return None if found is None else found["text"]
