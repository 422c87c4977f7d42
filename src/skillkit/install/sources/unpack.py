"""Archives as files in memory: no links, no paths that leave, nothing without bounds, nothing written.

One bounded reader for .zip and .tar.gz: members, names and bytes are counted while they are read; the
sizes in headers are not trusted.
"""

import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

from skillkit.core.limits import ARCHIVE_BYTES, ARCHIVE_FILES, KIB, MIB, PATH_CHARACTERS, TREE_DEPTH
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import UnsafeTreeError
from skillkit.install.paths import safe_name
from skillkit.install.tree import TreeFile

_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError)
_SKIPPED = ("__MACOSX/",)
_ENTRY = b"PK\x01\x02"
"""Begins each entry of a .zip's directory."""
_BLOCK = tarfile.BLOCKSIZE
_LONG_HEADERS = {tarfile.XHDTYPE: 64 * KIB, tarfile.SOLARIS_XHDTYPE: 64 * KIB, b"L": 64 * KIB, b"K": 64 * KIB}
_LONG_HEADERS[tarfile.XGLTYPE] = 4 * KIB  # copied for every member that follows
_TAR_BYTES = ARCHIVE_BYTES + 16 * MIB
"""Of a tar with its headers."""


def unpack(data: bytes, shown: str) -> dict[str, TreeFile]:
    """Return the files of a .zip or .tar.gz. Raises UnsafeTreeError if it is unsafe."""
    return gather((_zip if data.startswith(b"PK") else _tar)(data, shown), shown)


def gather(members: Iterable[tuple[str, IO[bytes], bool]], shown: str) -> dict[str, TreeFile]:
    """Return files that come one by one: path, content, executable. Raises UnsafeTreeError."""
    files: dict[str, TreeFile] = {}
    left = ARCHIVE_BYTES
    try:
        for name, file, executable in members:
            path = _path(name, shown)
            content = file.read(left + 1)
            left -= len(content)
            if path in files:
                raise UnsafeTreeError(f"Refused: '{escape_hidden(path)}' is in {shown} twice")
            files[path] = TreeFile(content, executable)
            if left < 0 or len(files) > ARCHIVE_FILES:
                raise _too_large(shown)
    except _DAMAGED as error:
        raise UnsafeTreeError(f"{shown} cannot be unpacked: {escape_hidden(str(error))}") from error
    return files


def _zip(data: bytes, shown: str) -> Iterator[tuple[str, IO[bytes], bool]]:
    if data.count(_ENTRY) > 2 * ARCHIVE_FILES:
        raise _too_large(shown)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            if info.is_dir() or info.filename.startswith(_SKIPPED):
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.flag_bits & 1:
                raise UnsafeTreeError(
                    f"Refused: '{escape_hidden(info.filename[:200])}' in {shown} is not a plain file"
                )
            with archive.open(info) as file:
                yield info.filename, file, bool(mode & 0o111)


def _tar(data: bytes, shown: str) -> Iterator[tuple[str, IO[bytes], bool]]:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        plain = packed.read(_TAR_BYTES + 1)
    if len(plain) > _TAR_BYTES:
        raise _too_large(shown)
    _check_headers(plain, shown)
    with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
        for member in archive:
            archive.members = []  # type: ignore[attr-defined]  # it would keep each
            if member.isdir():
                continue
            file = archive.extractfile(member) if member.isreg() and member.sparse is None else None
            if file is None:
                raise UnsafeTreeError(
                    f"Refused: '{escape_hidden(member.name[:200])}' in {shown} is a link or not a plain file"
                )
            yield member.name, file, bool(member.mode & 0o111)


def _check_headers(plain: bytes, shown: str) -> None:
    """Refuse headers that tarfile would read whole, and again for each member, however long they are."""
    position, members, long_headers = 0, 0, 0
    while position + _BLOCK <= len(plain) and any(block := plain[position : position + _BLOCK]):
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        members += 1
        if header.type in _LONG_HEADERS:
            long_headers += header.size
            if header.size > _LONG_HEADERS[header.type]:
                raise UnsafeTreeError(f"Refused: {shown} has a header of {header.size:,} bytes")
        if members > 4 * ARCHIVE_FILES or long_headers > 8 * MIB or header.size < 0:
            raise _too_large(shown)
        position += _BLOCK + -(-header.size // _BLOCK) * _BLOCK


def _path(name: str, shown: str) -> str:
    parts = name.removeprefix("./").split("/", TREE_DEPTH + 1)
    if len(name) > PATH_CHARACTERS or len(parts) > TREE_DEPTH:
        raise UnsafeTreeError(f"Refused: '{escape_hidden(name[:100])}…' in {shown} is too long or too deep")
    return "/".join(safe_name(part.encode("utf-8", "surrogateescape")) for part in parts)


def _too_large(shown: str) -> UnsafeTreeError:
    return UnsafeTreeError(f"Refused: {shown} has over {ARCHIVE_FILES:,} files or {ARCHIVE_BYTES:,} bytes")
