"""Uploads that could do harm are refused with a reason, and nothing of them is kept."""

import gzip
import io
import stat
import tarfile
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from registering import Workshop, packed, skill_files
from starlette.requests import Request

from skillkit.registry import app
from skillkit.registry.accounts import RateLimits
from skillkit.registry.app import THREADS
from skillkit.registry.exceptions import RejectedError

SKILL = skill_files("demo")["SKILL.md"].encode()


def _tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for info, content in ((tarfile.TarInfo("SKILL.md"), SKILL), *members):
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(plain.getvalue())


def _link(kind: bytes) -> bytes:
    info = tarfile.TarInfo("notes.md")
    info.type, info.linkname = kind, "/etc/passwd"
    return _tar((info, b""))


def _zip(*paths: str, mode: int = 0o100644) -> bytes:
    packed_files = io.BytesIO()
    with zipfile.ZipFile(packed_files, "w") as archive:
        archive.writestr("SKILL.md", SKILL)
        for path in paths:
            info = zipfile.ZipInfo(path)
            info.external_attr = mode << 16
            archive.writestr(info, b"x")
    return packed_files.getvalue()


UPLOADS: dict[str, Callable[[], bytes]] = {
    "traversal": lambda: _zip("../evil.md"),
    "absolute": lambda: _tar((tarfile.TarInfo("/etc/evil"), b"x")),
    "symbolic link": lambda: _link(tarfile.SYMTYPE),
    "hard link": lambda: _link(tarfile.LNKTYPE),
    "link in a zip": lambda: _zip("notes.md", mode=stat.S_IFLNK | 0o777),
    "twins in case": lambda: _zip("Notes.md", "notes.md"),
    "twins in Unicode": lambda: _zip("caf\u00e9.md", "cafe\u0301.md"),
    "git": lambda: _zip(".git/config"),
    "bomb": lambda: _tar((tarfile.TarInfo("big.md"), bytes(20 << 20))),
    "many files": lambda: _zip(*(f"{number}.md" for number in range(600))),
    "no skill": lambda: packed({"notes.md": "x"}),
    "no archive": lambda: b"PK nothing",
    "bad header": lambda: packed({"SKILL.md": "no header"}),
    "bad name": lambda: packed({"SKILL.md": "---\nname: ../x\ndescription: d\n---\n# x\n"}),
}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, kind_of_database: str) -> tuple[Workshop, str]:
    made = Workshop(tmp_path_factory.mktemp("registry"))
    return made, made.token()


@pytest.mark.parametrize("kind", UPLOADS)
def test_an_upload_that_could_do_harm_is_refused(workshop: tuple[Workshop, str], kind: str) -> None:
    made, token = workshop
    answer = made.client(token).post("/api/skillkit/v1/acme", content=UPLOADS[kind]())
    assert answer.status_code == 422, answer.text
    assert answer.json()["state"] == "refused"
    assert all(answer.json()["reasons"])
    assert list(made.registry.blobs.names()) == []
    assert made.registry.database.row("SELECT id FROM skill") is None


def test_readers_do_not_wait_for_uploads_that_take_long_to_check(
    workshop: tuple[Workshop, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, token = workshop
    begun, checked = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> None:
        begun.set()
        assert checked.wait(60)
        raise RejectedError("too slow")

    monkeypatch.setattr(made.server.publisher, "publish_archive", slow)
    publish = partial(made.client(token).post, "/api/skillkit/v1/acme", content=b"x")
    with ThreadPoolExecutor(THREADS + 1) as pool:
        uploads = [pool.submit(publish) for _ in range(THREADS)]
        assert begun.wait(30)
        try:
            for _ in range(50):
                assert pool.submit(made.client().get, "/healthz").result(20).status_code == 200
        finally:
            checked.set()
        assert {each.result(30).status_code for each in uploads} == {422}


@pytest.mark.parametrize("path", ["../evil.md", "evil.py\0.md", "evil/"])
def test_paths_of_files_that_come_one_by_one_are_checked_too(
    workshop: tuple[Workshop, str], path: str
) -> None:
    import hashlib

    made, token = workshop
    client = made.client(token)
    listed = []
    for each, content in (("SKILL.md", SKILL), (path, b"x")):
        about = {"path": each, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        ticket = client.post("/api/v1/skills/-/upload-url", json=about).json()["uploadTicket"]
        client.post(f"/up/{ticket}", content=content)
        listed.append({**about, "uploadTicket": ticket})
    document = {"slug": "demo", "ownerHandle": "acme", "version": "1.0.0", "files": listed}
    assert client.post("/api/v1/skills", json=document).status_code == 422
    assert list(made.registry.blobs.names()) == []


MESSAGES = {
    "a lone surrogate": b'{"id": 1, "method": "resources/read", "params": {"uri": "skill://\\ud800.x/SKILL.md"}}',
    "NaN": b'{"id": NaN, "method": "ping"}',
    "depth": b'{"method": "ping", "id": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "no JSON": b"{",
    "no object": b"[]",
}


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("address", ["/mcp", "/api/cli/device/code", "/api/v1/skills/-/upload-url"])
def test_a_message_that_is_no_json_object_is_refused(
    workshop: tuple[Workshop, str], kind: str, address: str
) -> None:
    made, token = workshop
    answer = made.client(token).post(address, content=MESSAGES[kind])
    assert (answer.status_code, answer.text[:11]) == (422, "The body is")


def test_numbers_of_a_query_that_make_no_sense_are_refused_or_ignored(workshop: tuple[Workshop, str]) -> None:
    client = workshop[0].client()
    for address in (
        "/api/v1/skills?limit=0",
        "/api/v1/skills?limit=-1&cursor=x",
        "/api/search?q=demo&limit=0",
    ):
        assert client.get(address).status_code == 200
    assert client.get(f"/dl/acme/demo/{'9' * 5000}.0.0.tar.gz").status_code == 404


def test_a_body_is_read_only_from_a_caller_who_may_send_one(tmp_path: Path, kind_of_database: str) -> None:
    made = Workshop(tmp_path, limits=RateLimits(reads=100, uploads=1))
    kept: list[bool] = []
    read = app._body

    async def watched(request: Request, most: int, *, keep: bool) -> bytes:
        kept.append(keep)
        return await read(request, most, keep=keep)

    made.server.limiter.spend(made.caller(token := made.token()), "uploads")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "_body", watched)
        content = bytes(1 << 20)
        assert made.client().post("/api/skillkit/v1/acme", content=content).status_code == 401
        assert made.client("wrong").post("/api/skillkit/v1/acme", content=content).status_code == 401
        assert made.client(token).post("/api/skillkit/v1/acme", content=content).status_code == 429
    assert kept == [False, False, False]


def test_more_bytes_than_are_read_are_refused(workshop: tuple[Workshop, str]) -> None:
    made, token = workshop
    answer = made.client(token).post("/api/v1/skills", content=bytes((1 << 20) + 1))
    assert answer.status_code == 413
