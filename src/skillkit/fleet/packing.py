"""Serialise trees and requests for transfer; a tree's digest verifies its content."""

import io
import os
import re
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from skillkit.core.digest import open_tree
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.limits import TREE_BYTES, TREE_FILES
from skillkit.core.pinned_trees import links_of
from skillkit.scripts.documents import DocumentError, request_from_json, request_to_json
from skillkit.scripts.models import ScriptRequest
from skillkit.scripts.pinned_run import open_real

_SKILLS = Path("/skills")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LENGTH = 8


class PackedTreeError(SkillsUseError, code="packed-tree"):
    """The bytes are not a packed tree, or an unsafe one."""


def pack_tree(folder: Path) -> bytes:
    """Pack regular files with their executable bit, and links as their targets; equal trees give equal
    bytes."""
    packed = _TreePacker()
    packed.add_folder(folder, "")
    return packed.close()


def pack_files(files: Mapping[str, Path]) -> bytes:
    """Pack files and folders under other names; RefusedRunError if one was replaced by a link."""
    packed = _TreePacker()
    for name, path in sorted(files.items()):
        with ExitStack() as held:
            place = Path(f"/proc/self/fd/{_held(open_real(path), held)}")
            if place.is_dir():
                packed.add_folder(place, f"{name}/")
            else:
                flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
                packed.add_file(name, _held(os.open(place, flags), held))
    return packed.close()


def _held(descriptor: int, held: ExitStack) -> int:
    held.callback(os.close, descriptor)
    return descriptor


class _TreePacker:
    """Packs a tree into an archive."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        self._archive = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._left = TREE_BYTES

    def add_folder(self, folder: Path, prefix: str) -> None:
        links = dict(sorted(links_of(folder).items()))
        for path, descriptor in open_tree(folder, max_files=TREE_FILES, skipped=frozenset(links)):
            self.add_file(prefix + path, descriptor)
        for path, text in links.items():
            member = tarfile.TarInfo(prefix + path)
            member.type, member.linkname = tarfile.SYMTYPE, text
            self._archive.addfile(member)

    def add_file(self, name: str, descriptor: int) -> None:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PackedTreeError(f"'{name}' is not a plain file")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(self._left + 1)
        self._left -= len(content)
        if self._left < 0:
            raise PackedTreeError(f"input files exceed {TREE_BYTES:,} bytes")
        member = tarfile.TarInfo(name)
        member.size = len(content)
        member.mode = 0o755 if os.fstat(descriptor).st_mode & 0o111 else 0o644
        self._archive.addfile(member, io.BytesIO(content))

    def close(self) -> bytes:
        self._archive.close()
        return self._bytes.getvalue()


def unpack_tree(packed: bytes, folder: Path) -> None:
    """Extract a packed tree to `folder`, which must not exist; PackedTreeError for invalid content.

    Links are created after everything else, so that nothing is ever written through one.
    """
    links: list[tuple[Path, str]] = []
    folder.mkdir()
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
            for member in _bounded(archive):
                place = folder.joinpath(*_parts(member.name))
                if member.issym():
                    links.append((place, member.linkname))
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                if content is None:
                    raise PackedTreeError(f"'{member.name}' is neither a plain file nor a link")
                with open(place, "xb") as file:
                    file.write(content.read())
                    os.fchmod(file.fileno(), 0o755 if member.mode & 0o111 else 0o644)
        for place, text in links:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(text)
    except (tarfile.TarError, FileExistsError, NotADirectoryError, ValueError, EOFError) as error:
        raise PackedTreeError(f"Not a packed tree: {error}") from error


def _bounded(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    size = 0
    for number, member in enumerate(archive):
        size += member.size
        if number >= TREE_FILES or size > TREE_BYTES:
            raise PackedTreeError(f"The tree exceeds {TREE_FILES:,} files or {TREE_BYTES:,} bytes")
        if not (member.isreg() or member.issym()):
            raise PackedTreeError(f"'{member.name}' is neither a plain file nor a link")
        yield member


def _parts(name: str) -> tuple[str, ...]:
    parts = tuple(name.split("/"))
    if not name or "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise PackedTreeError(f"The name '{name}' is outside the tree")
    return parts


def pack_request(request: ScriptRequest) -> bytes:
    """Serialise the request without paths of this machine, followed by its input files."""
    files = b""
    if request.inputs:
        files = pack_files({each.name: each.path for each in request.inputs})
        named = tuple(replace(each, path=Path(each.name)) for each in request.inputs)
        request = replace(request, inputs=named)
    document = request_to_json(request)
    return len(document).to_bytes(_LENGTH, "big") + document + files


def unpack_request(content: bytes, new_folder: Callable[[], Path]) -> ScriptRequest:
    """Deserialise a request; input files are written beneath a new, empty folder.

    Scripts see their skill at the same path on every machine.
    """
    size = int.from_bytes(content[:_LENGTH], "big")
    document, files = content[_LENGTH : _LENGTH + size], content[_LENGTH + size :]
    request = request_from_json(document, _SKILLS)
    name = request.skill if _PLAIN.fullmatch(request.skill) else request.digest.rpartition(":")[2]
    request = replace(request, base_dir=_SKILLS / name)
    if not request.inputs:
        return request
    for each in request.inputs:
        if not each.name or each.name in (".", "..") or "/" in each.name or "\0" in each.name:
            raise DocumentError(f"Invalid input file name: '{each.name}'")
    inputs = new_folder() / "files"
    try:
        unpack_tree(files, inputs)
    except PackedTreeError as error:
        raise DocumentError(f"Invalid input files: {error}") from error
    return replace(request, inputs=tuple(replace(each, path=inputs / each.name) for each in request.inputs))
