"""Uploads that could do harm are refused with a reason, and nothing of them is kept."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable

import pytest
from registering import Workshop, packed, skill_files

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
def workshop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workshop, str]:
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


def test_paths_of_files_that_come_one_by_one_are_checked_too(workshop: tuple[Workshop, str]) -> None:
    import hashlib

    made, token = workshop
    client = made.client(token)
    listed = []
    for path, content in (("SKILL.md", SKILL), ("../evil.md", b"x")):
        about = {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        ticket = client.post("/api/v1/skills/-/upload-url", json=about).json()["uploadTicket"]
        client.post(f"/up/{ticket}", content=content)
        listed.append({**about, "uploadTicket": ticket})
    document = {"slug": "demo", "ownerHandle": "acme", "version": "1.0.0", "files": listed}
    assert client.post("/api/v1/skills", json=document).status_code == 422
    assert list(made.registry.blobs.names()) == []


def test_more_bytes_than_are_read_are_refused(workshop: tuple[Workshop, str]) -> None:
    made, token = workshop
    answer = made.client(token).post("/api/v1/skills", content=bytes((1 << 20) + 1))
    assert answer.status_code == 413
