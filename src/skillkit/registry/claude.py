"""The dialect of Claude Code: the marketplace of an owner, and its repository by git's smart HTTP."""

import zlib
from collections.abc import Iterable
from itertools import chain

from starlette.responses import Response, StreamingResponse

from skillkit._version import __version__
from skillkit.core.limits import MIB
from skillkit.registry.exceptions import ForbiddenError, MissingError, RejectedError, TooLargeError
from skillkit.registry.repository import MAIN, OwnerRepository, marketplace
from skillkit.registry.server import Ask, Endpoint, json_answer

_FLUSH, _DELIMITER = b"0000", b"0001"
_BAND = 65_000
_TYPE = "application/x-git-upload-pack-{}"
_MAX_REQUEST = MIB


def _repository(ask: Ask) -> OwnerRepository:
    return OwnerRepository(ask.registry, ask.server.git, ask.caller, ask.path["owner"])


def _marketplace(ask: Ask) -> Response:
    repository = _repository(ask)
    url = f"{ask.base}/git/{repository.name}.git"
    return json_answer(marketplace(repository.name, repository.latest(), url))


def _line(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return f"{len(data) + 4:04x}".encode() + data


def _git(lines: Iterable[bytes], kind: str) -> Response:
    return Response(b"".join(lines), media_type=_TYPE.format(kind))


def _advertise(ask: Ask) -> Response:
    try:
        _repository(ask)  # whoever may not read it learns nothing
    except MissingError:
        ask.known()  # git sends its password only if it is asked for one
        raise
    if ask.query.get("service") != "git-upload-pack":
        raise ForbiddenError("This repository is read only; publish with: agent skill publish")
    service = [_line("# service=git-upload-pack\n"), _FLUSH]
    if "version=2" not in ask.headers.get("git-protocol", ""):
        return _git(
            [*service, _line("ERR git 2.26 or newer is needed, with protocol version 2\n")], "advertisement"
        )
    abilities = (
        "version 2",
        f"agent=skillkit/{__version__}",
        "ls-refs",
        "fetch=shallow",
        "object-format=sha1",
    )
    return _git([*service, *(_line(f"{each}\n") for each in abilities), _FLUSH], "advertisement")


def _refuse_push(ask: Ask) -> Response:
    _repository(ask)
    raise ForbiddenError("This repository is read only; publish with: agent skill publish")


def _serve(ask: Ask) -> Response:
    repository = _repository(ask)
    lines = _lines(_inflated(ask))
    command = next((line.partition("=")[2] for line in lines if line.startswith("command=")), "")
    if command == "ls-refs":
        return _git(_refs(repository, lines), "result")
    if command == "fetch":
        return StreamingResponse(_fetch(repository, lines), media_type=_TYPE.format("result"))
    raise RejectedError("git asked for something else than refs or objects")


def _refs(repository: OwnerRepository, lines: list[str]) -> list[bytes]:
    prefixes = [line.removeprefix("ref-prefix ") for line in lines if line.startswith("ref-prefix ")]
    answer = []
    for name, commit in repository.refs(prefixes):
        if name == MAIN:
            target = f" symref-target:{MAIN}" if "symrefs" in lines else ""
            answer.append(_line(f"{commit} HEAD{target}\n"))
        answer.append(_line(f"{commit} {name}\n"))
    return [*answer, _FLUSH]


def _fetch(repository: OwnerRepository, lines: list[str]) -> Iterable[bytes]:
    """Return a pack of all commits that the client wants, whatever it has already."""
    if "done" not in lines:
        return [_line("acknowledgments\n"), _line("NAK\n"), _FLUSH]
    wanted = frozenset(line.removeprefix("want ") for line in lines if line.startswith("want "))
    try:
        data = repository.pack(wanted)
    except (MissingError, TooLargeError) as error:
        return [_line(f"ERR {error}\n")]
    shallow = (
        [_line("shallow-info\n"), _DELIMITER] if any(line.startswith("deepen") for line in lines) else []
    )
    bands = (_line(b"\x01" + data[start : start + _BAND]) for start in range(0, len(data), _BAND))
    return chain([*shallow, _line("packfile\n")], bands, [_FLUSH])


def _inflated(ask: Ask) -> bytes:
    if ask.headers.get("content-encoding") not in ("gzip", "x-gzip"):
        return ask.body
    reader = zlib.decompressobj(31)
    try:
        data = reader.decompress(ask.body, _MAX_REQUEST)
    except zlib.error as error:
        raise RejectedError("The request is not gzip") from error
    if reader.unconsumed_tail:
        raise RejectedError("The request is too large")
    return data


def _lines(data: bytes) -> list[str]:
    """The lines of a request, whatever parts it has. Raises RejectedError."""
    found, place = [], 0
    while place < len(data):
        try:
            size = int(data[place : place + 4], 16)
        except ValueError as error:
            raise RejectedError("The request is not of git") from error
        if size > 4:
            found.append(data[place + 4 : place + size].decode("utf-8", "replace").rstrip("\n"))
        place += max(size, 4)
    return found


_GIT = "/git/{owner}.git"
ENDPOINTS = (
    Endpoint("/claude/{owner}/marketplace.json", _marketplace),
    Endpoint(f"{_GIT}/info/refs", _advertise),
    Endpoint(f"{_GIT}/git-upload-pack", _serve, "POST", _MAX_REQUEST),
    Endpoint(f"{_GIT}/git-receive-pack", _refuse_push, "POST", _MAX_REQUEST),
)
