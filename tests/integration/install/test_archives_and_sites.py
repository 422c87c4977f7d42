"""Skills from archives and from sites that publish them: as safe and as well remembered as from git."""

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import FileServer
from installing import Person
from publishers import zipped
from skill_repositories import skill_text

from skillkit.install.exceptions import ConsentError, InstallError, NetworkError, SourceError, UnsafeTreeError
from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import PresetAnswers
from skillkit.install.publishing import publish
from skillkit.install.sources.site_index import SCHEMA, read_index
from skillkit.install.sources.unpack import unpack

FORMATS = Path(__file__).parents[4] / "shared" / "data" / "formats" / "well-known-index.json"
INDEX = "/.well-known/agent-skills/index.json"
OLDER = "/.well-known/skills"


def tarred(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as running:
        yield running


def test_an_archive_is_installed_updated_rolled_back_and_locked(
    installer: SkillInstaller, server: FileServer, tmp_path: Path
) -> None:
    server.files["/skills.zip"] = zipped({"top/skills/pdf/SKILL.md": skill_text("pdf"), "top/README": "x"})
    [skill] = installer.add(f"{server.url}/skills.zip")
    digest = f"sha256:{hashlib.sha256(server.files['/skills.zip']).hexdigest()}"
    assert (skill.subpath, skill.revision, skill.source.kind) == ("top/skills/pdf", digest, "archive")
    assert not installer.outdated()[0].outdated
    lock = tmp_path / "skills-lock.json"
    installer.lock(lock)
    server.files["/skills.zip"] = zipped({"top/skills/pdf/SKILL.md": skill_text("pdf", body="New.")})
    assert installer.outdated()[0].outdated
    newer = installer.update("pdf")
    assert newer.previous[0].digest == skill.digest
    assert installer.rollback("pdf").digest == skill.digest
    with pytest.raises(InstallError, match="digest"):
        SkillInstaller(tmp_path / "other", consent=Person()).sync(lock)


def test_an_archive_on_this_machine_and_one_with_a_digest(
    tmp_path: Path, home: Path, server: FileServer
) -> None:
    plain = tarfile.TarInfo("pdf/SKILL.md")
    run = tarfile.TarInfo("pdf/run.sh")
    run.mode = 0o755
    data = tarred([(plain, skill_text("pdf").encode()), (run, b"#!/bin/sh\n")])
    (tmp_path / "pdf.tar.gz").write_bytes(data)
    [skill] = SkillInstaller(home, consent=Person()).add(str(tmp_path / "pdf.tar.gz"))
    assert skill.files["run.sh"].executable
    server.files["/a.tgz"] = data
    unattended = SkillInstaller(tmp_path / "two", consent=PresetAnswers(yes=True))
    with pytest.raises(ConsentError):
        unattended.add(f"{server.url}/a.tgz")
    with pytest.raises(SourceError, match="digest"):
        unattended.add(f"{server.url}/a.tgz#sha256:{'0' * 64}")
    unattended.add(f"{server.url}/a.tgz#sha256={hashlib.sha256(data).hexdigest()}")


def link(kind: bytes) -> bytes:
    info = tarfile.TarInfo("a/SKILL.md")
    info.type, info.linkname = kind, "/etc/passwd"
    return tarred([(info, b"")])


def linked_zip() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        info = zipfile.ZipInfo("a/SKILL.md")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return data.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        zipped({"../SKILL.md": "x"}),
        zipped({"/etc/SKILL.md": "x"}),
        zipped({"a/.git/config": "x"}),
        zipped({"a\\b": "x"}),
        tarred([(tarfile.TarInfo("a/../../x"), b"x")]),
        tarred([(tarfile.TarInfo("a"), b"x"), (tarfile.TarInfo("a"), b"y")]),
        link(tarfile.SYMTYPE),
        link(tarfile.LNKTYPE),
        link(tarfile.FIFOTYPE),
        linked_zip(),
        zipped({"bomb": "\0" * (65 * 1024 * 1024)})[:-30],
        b"PK\x03\x04garbage",
        b"\x1f\x8bgarbage",
        b"",
    ],
    ids=(
        *"parent absolute git backslash tar-parent twice symlink".split(),
        *"hardlink fifo zip-link cut bad-zip bad-tar empty".split(),
    ),
)
def test_an_archive_that_could_do_harm_is_refused(data: bytes) -> None:
    with pytest.raises(UnsafeTreeError):
        unpack(data, "it")


def test_a_bomb_is_stopped_by_its_size() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SKILL.md", b"\0" * (65 * 1024 * 1024))
    with pytest.raises(UnsafeTreeError, match="bytes"):
        unpack(data.getvalue(), "it")


def entry(name: str, data: bytes, url: str, kind: str) -> dict[str, str]:
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return {"name": name, "type": kind, "description": f"What {name} does.", "url": url, "digest": digest}


def test_a_site_is_read_with_its_digests_checked(
    installer: SkillInstaller, person: Person, server: FileServer, tmp_path: Path
) -> None:
    one, two = skill_text("one").encode(), zipped({"SKILL.md": skill_text("two"), "a.md": "A"})
    server.files |= {"/one/SKILL.md": one, "/two.zip": two, "/three.md": skill_text("three").encode()}
    index = [
        entry("one", one, "/one/SKILL.md", "skill-md"),
        entry("two", two, f"{server.url}/two.zip", "archive"),
        entry("three", b"other", "/three.md", "skill-md"),
    ]
    server.files[INDEX] = json.dumps({"$schema": SCHEMA, "skills": index}).encode()
    added = installer.add(server.url, everything=True)
    assert [skill.name for skill in added] == ["one", "two"]
    assert [left.path for left in added.left_out] == ["three"]
    assert "digest" in added.left_out[0].reason
    assert set(added[1].files) == {"SKILL.md", "a.md"}
    assert not any(offer.notes for offer in person.last.offers)
    assert not any(found.outdated for found in installer.outdated())
    lock = tmp_path / "skills-lock.json"
    installer.lock(lock)
    other = SkillInstaller(tmp_path / "other", consent=Person())
    assert {skill.name for skill in other.sync(lock)} == {"one", "two"}
    newer = skill_text("one", body="New.").encode()
    server.files["/one/SKILL.md"] = newer
    index[0] = entry("one", newer, "/one/SKILL.md", "skill-md")
    server.files[INDEX] = json.dumps({"$schema": SCHEMA, "skills": index}).encode()
    assert [found.outdated for found in installer.outdated()] == [True, False]
    assert installer.update("one").previous


def test_the_older_form_and_what_does_not_conform_are_read_with_a_loud_note(
    installer: SkillInstaller, person: Person, server: FileServer
) -> None:
    server.files[f"{OLDER}/index.json"] = json.dumps(
        {"skills": [{"name": "old", "description": "Old.", "files": ["SKILL.md", "references/a.md"]}]}
    ).encode()
    server.files[f"{OLDER}/old/SKILL.md"] = skill_text("old").encode()
    server.files[f"{OLDER}/old/references/a.md"] = b"A"
    [skill] = installer.add(server.url)
    assert set(skill.files) == {"SKILL.md", "references/a.md"}
    assert "no digest" in " ".join(person.last.offers[0].notes)
    server.files[INDEX] = json.dumps(
        {
            "$schema": "https://else.example",
            "skills": [{"name": "odd", "path": "odd/SKILL.md"}, {"name": "../x"}],
        }
    ).encode()
    server.files["/.well-known/agent-skills/odd/SKILL.md"] = skill_text("odd").encode()
    added = installer.add(server.url, everything=True)
    assert [skill.name for skill in added] == ["odd"]
    assert "does not follow the format" in " ".join(person.last.offers[0].notes)
    assert len(added.left_out) == 1


def test_a_site_without_skills_or_one_that_leads_astray_is_refused(
    installer: SkillInstaller, server: FileServer
) -> None:
    with pytest.raises(SourceError, match="publishes no skills"):
        installer.add(server.url)
    server.redirects[INDEX] = "http://example.com/index.json"
    with pytest.raises((SourceError, NetworkError), match="not encrypted"):
        installer.add(server.url)
    server.redirects[INDEX] = "file:///etc/passwd"
    with pytest.raises((SourceError, NetworkError)):
        installer.add(server.url)


def test_what_is_published_is_installed_as_it_was(
    installer: SkillInstaller, server: FileServer, tmp_path: Path
) -> None:
    skills, site = tmp_path / "skills", tmp_path / "site"
    (skills / "one").mkdir(parents=True)
    (skills / "one" / "SKILL.md").write_text(skill_text("one"))
    (skills / "two" / "scripts").mkdir(parents=True)
    (skills / "two" / "SKILL.md").write_text(skill_text("two"))
    (skills / "two" / "scripts" / "run.sh").write_text("#!/bin/sh\n")
    (skills / "two" / "scripts" / "run.sh").chmod(0o755)
    published, left_out = publish(skills, site)
    assert ([skill.url for skill in published], left_out) == (["one/SKILL.md", "two.tar.gz"], ())
    again, _ = publish(skills, site)
    assert again == published, "an unchanged skill keeps its digest"
    for file in site.rglob("*"):
        if file.is_file():
            server.files[f"/{file.relative_to(site)}"] = file.read_bytes()
    by_site = {skill.name: skill.digest for skill in installer.add(server.url, everything=True)}
    by_folder = SkillInstaller(tmp_path / "two-home", consent=Person()).add(str(skills), everything=True)
    assert by_site == {skill.name: skill.digest for skill in by_folder}


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the collection of real indexes is not beside the project")
def test_real_indexes_are_read_or_refused_with_a_reason() -> None:
    for path in sorted(FORMATS.glob("*.json")):
        try:
            found = read_index(path.read_bytes(), f"https://site.example{INDEX}")
        except SourceError:
            continue
        assert all(skill.url or skill.files for skill in found.skills.values())
