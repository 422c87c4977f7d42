"""What is inside a sealed document: a request for any machine, and the files the user handed to the run."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from skillkit.fleet.packing import PackedTreeError, pack_files, unpack_tree
from skillkit.scripts.documents import DocumentError, request_from_json, request_to_json
from skillkit.scripts.models import ScriptRequest

_SKILLS = Path("/skills")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LENGTH = 8
_NAME = re.compile(r"[^/\0]+")


def pack_request(request: ScriptRequest) -> bytes:
    """Return the request without any path of this machine, followed by its input files."""
    files = b""
    if request.inputs:
        files = pack_files({each.name: each.path for each in request.inputs})
        named = tuple(replace(each, path=Path(each.name)) for each in request.inputs)
        request = replace(request, inputs=named)
    document = request_to_json(request)
    return len(document).to_bytes(_LENGTH, "big") + document + files


def unpack_request(content: bytes, new_folder: Callable[[], Path]) -> ScriptRequest:
    """Return the request; if it has input files, they are written beneath a new, empty folder.

    Scripts see their skill at the same place on every machine.
    """
    size = int.from_bytes(content[:_LENGTH], "big")
    document, files = content[_LENGTH : _LENGTH + size], content[_LENGTH + size :]
    request = request_from_json(document, _SKILLS)
    name = request.skill if _PLAIN.fullmatch(request.skill) else request.digest.rpartition(":")[2]
    request = replace(request, base_dir=_SKILLS / name)
    if not request.inputs:
        return request
    try:
        inputs = new_folder() / "files"
        unpack_tree(files, inputs)
    except (PackedTreeError, OSError) as error:
        raise DocumentError(f"The input files of a run cannot be kept: {error}") from error
    for each in request.inputs:
        if not _NAME.fullmatch(each.name) or each.name in (".", ".."):
            raise DocumentError(f"An input file with the name '{each.name}'")
    return replace(request, inputs=tuple(replace(each, path=inputs / each.name) for each in request.inputs))
