"""Addresses and archives from outside: where they lead, how long they take, how much they hold."""

import gzip
import io
import json
import socket
import tarfile
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from file_server import FileServer

from skillkit.core.limits import ARCHIVE_BYTES, MIB
from skillkit.install.exceptions import InstallError, NetworkError, SourceError, UnsafeTreeError
from skillkit.install.sources.download import check_named, download
from skillkit.install.sources.marketplace_plugins import find_plugins
from skillkit.install.sources.mcp import McpSource
from skillkit.install.sources.site import SiteSource
from skillkit.install.sources.site_index import OpenSite, read_index
from skillkit.install.sources.source import Access
from skillkit.install.sources.unpack import unpack
from skillkit.install.tree import TreeLimits

INDEX = "/.well-known/agent-skills/index.json"
INSIDE = [
    *("https://10.0.0.1/x", "https://192.168.1.1/x", "https://169.254.169.254/latest", "https://[fd00::1]/x"),
    *("https://0x7f000001/x", "https://2130706433/x", "https://127.1/x", "https://[::ffff:127.0.0.1]/x"),
    *("https://168.63.129.16/x", "https://192.0.0.192/x", "https://localhost:1/x"),
]


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as opened:
        yield opened


@pytest.mark.parametrize("inside", INSIDE)
def test_a_redirect_leads_to_no_address_inside(server: FileServer, inside: str) -> None:
    server.redirects["/x"] = inside
    with pytest.raises(SourceError, match="an address inside this network"):
        download(f"{server.url}/x", Access())


def test_a_redirect_on_the_same_host_and_port_is_followed(server: FileServer) -> None:
    server.redirects["/x"] = "/y"
    server.files["/y"] = b"here"
    assert download(f"{server.url}/x", Access()) == b"here"
    server.redirects["/y"] = "/x"
    with pytest.raises(SourceError, match="redirects"):
        download(f"{server.url}/x", Access())


@pytest.mark.parametrize("named", [*INSIDE, "file:///etc/passwd", "ssh://git@10.0.0.1/x.git", "/etc"])
def test_an_index_or_a_marketplace_names_no_address_inside(named: str) -> None:
    with pytest.raises(SourceError, match="an address inside this network"):
        check_named(named, "https://example.com/index.json")


def test_a_site_sends_us_to_no_other_port_of_this_machine(server: FileServer) -> None:
    with FileServer({"/SKILL.md": b"---\nname: pdf\ndescription: x\n---\n"}) as private:
        server.files["/SKILL.md"] = private.files["/SKILL.md"]
        entries = [
            {"name": "inside", "type": "skill-md", "url": f"{private.url}/SKILL.md"},
            {"name": "own", "type": "skill-md", "url": "/SKILL.md"},
        ]
        server.files[INDEX] = json.dumps({"skills": entries}).encode()
        site = OpenSite(SiteSource(server.url), server.url, Access())
        assert "SKILL.md" in site.read_one("own", TreeLimits()).files
        with pytest.raises(SourceError, match="an address inside this network"):
            site.read_one("inside", TreeLimits())
        assert private.requests == []


class Market:
    """A marketplace that was fetched from a host outside."""

    followed = type("Followed", (), {"location": "https://example.com/market"})

    def __init__(self, source: object) -> None:
        self.data = json.dumps({"plugins": [{"name": "pdf", "source": source}]}).encode()

    def read_file(self, path: str) -> bytes:
        return self.data


@pytest.mark.parametrize(
    "source",
    [
        {"source": "url", "url": "https://127.0.0.1/x.git"},
        {"source": "git", "url": "file:///root/private"},
        {"source": "archive", "url": "https://10.0.0.1/x.zip"},
    ],
)
def test_a_plugin_of_a_remote_marketplace_lies_nowhere_inside(source: object) -> None:
    with pytest.raises(SourceError, match="an address inside this network"):
        find_plugins(Market(source), "pdf")


class Dripping:
    """A server that sends one byte after the other, and ends in the end."""

    def __init__(self, start: bytes, rest: bytes) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._serve, args=(start, rest), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/x"

    def _serve(self, start: bytes, rest: bytes) -> None:
        connection, _ = self.listener.accept()
        with connection:
            connection.recv(65536)
            try:
                connection.sendall(start)
                for byte in rest:
                    if self.stop.wait(0.02):
                        return
                    connection.sendall(bytes([byte]))
            except OSError:
                return

    def close(self) -> None:
        self.stop.set()
        self.listener.close()
        self.thread.join(20)


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("start", "rest"),
    [
        (HEAD + b"Content-Length: 100\r\n\r\n", b"x" * 100),
        (HEAD, b"X: " + b"y" * 90 + b"\r\nContent-Length: 0\r\n\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"X: " + b"y" * 90 + b"\r\n\r\n"),
    ],
    ids=["body", "header", "trailer"],
)
def test_a_dripping_server_does_not_outlive_the_time_limit(start: bytes, rest: bytes) -> None:
    server = Dripping(start, rest)
    try:
        with pytest.raises(NetworkError, match="timed out after"):
            download(server.url, Access(timeout=0.4))
    finally:
        server.close()


def test_what_ends_early_is_not_taken_for_the_whole() -> None:
    server = Dripping(HEAD + b"Content-Length: 100\r\n\r\nhalf", b"")
    try:
        with pytest.raises(NetworkError, match="ended before"):
            download(server.url, Access())
    finally:
        server.close()


def test_files_of_an_index_are_counted_while_they_are_fetched(server: FileServer) -> None:
    names = ["SKILL.md", *(f"{number}.txt" for number in range(20))]
    server.files |= {f"/.well-known/agent-skills/big/{name}": b"x" * 600 for name in names}
    server.files[INDEX] = json.dumps({"skills": [{"name": "big", "files": names}]}).encode()
    site = OpenSite(SiteSource(server.url), server.url, Access())
    with pytest.raises(SourceError, match="larger than"):
        site.read_one("big", TreeLimits(max_files=100, max_bytes=1000))
    assert len(server.requests) == 3, "the index and two files"
    with pytest.raises(InstallError):
        site.read_one("big", TreeLimits(max_files=20))
    assert len(server.requests) == 3


@pytest.mark.parametrize("files", [5, "SKILL.md", {"a": 1}, None, True])
def test_an_index_with_files_of_another_kind_is_read(files: object) -> None:
    index = read_index(json.dumps({"skills": [{"name": "odd", "files": files}]}).encode(), "https://x.test/i")
    assert [left.path for left in index.left_out] == ["odd"]


def pax(kind: bytes) -> bytes:
    payload = b"%d comment=" % (96 * MIB) + b"\0" * (96 * MIB)
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = kind, len(payload)
    return header.tobuf(tarfile.USTAR_FORMAT) + payload


def many_pax(kind: bytes) -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 60 << 10
    return (header.tobuf(tarfile.USTAR_FORMAT) + b"\0" * (60 << 10)) * 300


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
@pytest.mark.parametrize("make", [pax, many_pax])
def test_headers_of_a_tar_cost_no_memory(kind: bytes, make: Callable[[bytes], bytes]) -> None:
    data = gzip.compress(make(kind), 1)
    tracemalloc.start()
    try:
        with pytest.raises(UnsafeTreeError):
            unpack(data, "it")
        assert tracemalloc.get_traced_memory()[1] < 4 * ARCHIVE_BYTES
    finally:
        tracemalloc.stop()


def test_a_tar_with_the_comment_of_git_archive_is_read() -> None:
    data = io.BytesIO()
    comment = {"comment": "0" * 40}
    with tarfile.open(fileobj=data, mode="w:gz", format=tarfile.PAX_FORMAT, pax_headers=comment) as archive:
        member = tarfile.TarInfo("repo/" + "long-name-" * 12 + "/SKILL.md")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"hi"))
    [(path, file)] = unpack(data.getvalue(), "it").items()
    assert (path.endswith("/SKILL.md"), file.content) == (True, b"hi")


def test_a_member_of_a_zip_is_read_to_the_bound_and_no_further() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("bomb", "w") as member:
        for _ in range(4):
            member.write(b"\0" * ARCHIVE_BYTES)
    tracemalloc.start()
    try:
        with pytest.raises(UnsafeTreeError, match="bytes"):
            unpack(data.getvalue(), "it")
        assert tracemalloc.get_traced_memory()[1] < 3 * ARCHIVE_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["a/" * 3000 + "x", "a/" * 40 + "x", "a" * 5000])
def test_a_path_in_an_archive_is_refused_for_its_length_first(name: str) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(name, b"")
    with pytest.raises(UnsafeTreeError, match="too long or too deep"):
        unpack(data.getvalue(), "it")


def test_a_directory_of_too_many_entries_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with pytest.raises(UnsafeTreeError, match="files"):
        unpack(b"PK\x03\x04" + b"PK\x01\x02" * 30_000, "it")


def test_an_mcp_server_cannot_send_its_client_to_another_host(server: FileServer) -> None:
    pytest.importorskip("mcp")
    with FileServer() as elsewhere:
        server.redirects["/mcp"] = f"{elsewhere.url}/mcp"
        with pytest.raises(InstallError, match="not followed"), McpSource(f"{server.url}/mcp").open(Access()):
            pass
        assert server.requests
        assert elsewhere.requests == []
