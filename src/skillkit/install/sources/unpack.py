"""Archives as files in memory: no links, no paths that leave, nothing without bounds, nothing written."""

import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import UnsafeTreeError
from skillkit.install.paths import safe_name
from skillkit.install.tree import TreeFile

MAX_FILES = 10_000
MAX_BYTES = 64 * 1024 * 1024
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError)
_SKIPPED = ("__MACOSX/",)


def unpack(data: bytes, shown: str) -> dict[str, TreeFile]:
    """Return the files of a .zip or .tar.gz. Raises UnsafeTreeError for one that could do harm."""
    entries = _zip if data.startswith(b"PK") else _tar
    files: dict[str, TreeFile] = {}
    left = MAX_BYTES
    try:
        for name, content, executable in entries(data, shown):
            path = "/".join(safe_name(part.encode("utf-8", "surrogateescape")) for part in name.split("/"))
            left -= len(content)
            if path in files:
                raise UnsafeTreeError(f"Refused: '{escape_hidden(path)}' is in {shown} twice")
            files[path] = TreeFile(content, executable)
            if left < 0 or len(files) > MAX_FILES:
                raise UnsafeTreeError(f"Refused: {shown} has over {MAX_FILES:,} files or {MAX_BYTES:,} bytes")
    except _DAMAGED as error:
        raise UnsafeTreeError(f"{shown} cannot be unpacked: {escape_hidden(str(error))}") from error
    return files


def _zip(data: bytes, shown: str) -> Iterator[tuple[str, bytes, bool]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        if len(infos) > 2 * MAX_FILES:
            raise UnsafeTreeError(f"Refused: {shown} holds more than {MAX_FILES:,} files")
        for info in infos:
            mode = info.external_attr >> 16
            if info.is_dir() or info.filename.startswith(_SKIPPED):
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.flag_bits & 1:
                raise UnsafeTreeError(
                    f"Refused: '{escape_hidden(info.filename)}' in {shown} is no plain file"
                )
            with archive.open(info) as file:
                # What the header says of the size is the author's word: read no more than the bound.
                yield _plain(info.filename), file.read(MAX_BYTES + 1), bool(mode & 0o111)


def _tar(data: bytes, shown: str) -> Iterator[tuple[str, bytes, bool]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r|gz") as archive:
        for number, member in enumerate(archive):
            if number > 2 * MAX_FILES:
                raise UnsafeTreeError(f"Refused: {shown} holds more than {MAX_FILES:,} files")
            if member.isdir():
                continue
            if not member.isreg() or member.sparse is not None:
                raise UnsafeTreeError(
                    f"Refused: '{escape_hidden(member.name)}' in {shown} is a link or no plain file"
                )
            file = archive.extractfile(member)
            yield (
                _plain(member.name),
                b"" if file is None else file.read(MAX_BYTES + 1),
                bool(member.mode & 0o111),
            )


def _plain(name: str) -> str:
    return name.removeprefix("./")
