"""Files that scripts made, as MCP hands them on: links in the answer, contents when they are read."""

import base64
import mimetypes

import mcp_types as types

from skillkit.core.authority import current_requester
from skillkit.disclosure import ToolResult
from skillkit.scripts.outputs import OutputStore

ResourceContents = types.TextResourceContents | types.BlobResourceContents


def made_content(result: ToolResult) -> list[types.ContentBlock]:
    """Return a link to each file that a script made, and the pictures among them."""
    links = [
        types.ResourceLink(
            type="resource_link",
            uri=str(file["uri"]),
            name=str(file["name"]),
            mime_type=str(file["media_type"]),
            size=file["bytes"] if isinstance(file["bytes"], int) else None,
        )
        for file in result.files
        if file.keys() >= {"uri", "name", "media_type", "bytes"}
    ]
    pictures = [file for file in result.shown if file.is_picture]
    return [
        *links,
        *(types.ImageContent(type="image", data=file.base64, mime_type=file.media_type) for file in pictures),
    ]


def read_made_file(outputs: OutputStore, uri: str) -> ResourceContents:
    """Return what a script of this client made; ContentLoadError if it made no such file."""
    path = outputs.path(uri, current_requester())
    return resource_contents(uri, path.read_bytes(), mimetypes.guess_type(path.name)[0])


def resource_contents(uri: str, raw: bytes, media_type: str | None) -> ResourceContents:
    """Return the bytes of a file in the form that the protocol carries."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        blob = base64.b64encode(raw).decode("ascii")
        return types.BlobResourceContents(
            uri=uri, mime_type=media_type or "application/octet-stream", blob=blob
        )
    return types.TextResourceContents(uri=uri, mime_type=media_type or "text/plain", text=text)
