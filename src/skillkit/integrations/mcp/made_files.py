"""Files that scripts made, as MCP hands them on: links in the answer, contents when they are read."""

import base64
import mimetypes

import mcp_types as types

from skillkit.core.authority import current_requester
from skillkit.scripts.outputs import OutputStore


def link_made_files(data: object) -> list[types.ContentBlock]:
    """Return a link to each file that the answer of a script names."""
    files = data.get("files") if isinstance(data, dict) else None
    return [
        types.ResourceLink(
            type="resource_link",
            uri=file["uri"],
            name=file["name"],
            mime_type=file["media_type"],
            size=file["bytes"],
        )
        for file in files or ()
    ]


def read_made_file(outputs: OutputStore, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
    """Return what a script of this client made; ContentLoadError if it made no such file."""
    path = outputs.path(uri, current_requester())
    content = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        blob = base64.b64encode(content).decode("ascii")
        return types.BlobResourceContents(
            uri=uri, mime_type=media_type or "application/octet-stream", blob=blob
        )
    return types.TextResourceContents(uri=uri, mime_type=media_type or "text/plain", text=text)
