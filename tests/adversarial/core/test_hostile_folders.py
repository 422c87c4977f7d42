"""Files and folders that are not what they seem, or do not stay what they are."""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.digest import tree_digest
from skillkit.core.exceptions import (
    ContentLoadError,
    PathSecurityError,
    SizeLimitExceededError,
    SkillNotFoundError,
)
from skillkit.core.resources import list_resources, read_resource

AS_ROOT = os.geteuid() == 0


@pytest.fixture
def manager(skills_dir: Path, write_skill) -> SkillManager:
    write_skill("good")
    return SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")


def only_the_good_one(manager: SkillManager) -> list[str]:
    manager.discover()
    assert [skill.name for skill in manager.list_skills()] == ["good"]
    assert manager.invoke_skill("good")
    return [found.code for found in manager.diagnostics]


def folder_with(skills_dir: Path, name: str = "evil") -> Path:
    (skills_dir / name).mkdir()
    return skills_dir / name / "SKILL.md"


def test_a_fifo_is_not_waited_for(manager: SkillManager, skills_dir: Path) -> None:
    os.mkfifo(folder_with(skills_dir))
    assert only_the_good_one(manager) == ["not-a-file"]


def test_a_socket_is_not_a_file(
    manager: SkillManager, skills_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder_with(skills_dir)
    monkeypatch.chdir(path.parent)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("SKILL.md")
        assert only_the_good_one(manager) == ["not-a-file"]


def test_a_folder_is_not_a_file(manager: SkillManager, skills_dir: Path) -> None:
    folder_with(skills_dir).mkdir()
    assert only_the_good_one(manager) == ["not-a-file"]


@pytest.mark.skipif(not AS_ROOT, reason="only root can make a device")
def test_a_device_is_not_a_file(manager: SkillManager, skills_dir: Path) -> None:
    try:
        os.mknod(folder_with(skills_dir), stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this machine does not let root make devices")
    assert only_the_good_one(manager) == ["not-a-file"]
    with pytest.raises(ContentLoadError, match="Not a regular file"):
        read_resource(skills_dir / "evil", "SKILL.md")


@pytest.mark.parametrize("target", ["/dev/zero", "/etc/passwd", "/proc/self/environ"])
def test_a_link_to_the_outside_is_not_read(manager: SkillManager, skills_dir: Path, target: str) -> None:
    folder_with(skills_dir).symlink_to(target)
    assert set(only_the_good_one(manager)) <= {"not-a-file", "symlink-outside"}
    assert len(manager.diagnostics) == 1


def test_100_megabytes_are_not_read(manager: SkillManager, skills_dir: Path) -> None:
    header = b"---\nname: evil\ndescription: d\n---\n"
    for name, beginning in (("nothing", b""), ("huge", header.replace(b"evil", b"huge"))):
        with folder_with(skills_dir, name).open("wb") as file:
            file.write(beginning)
            file.truncate(100_000_000)
    manager.discover()
    assert [skill.name for skill in manager.list_skills()] == ["good", "huge"]
    assert [found.code for found in manager.diagnostics] == ["header"]
    with pytest.raises(SizeLimitExceededError):
        manager.invoke_skill("huge")
    page = manager.read_resource("huge", "SKILL.md", limit=100)
    assert page.size == 100_000_000
    assert len(page.text or "") <= 100


def test_a_folder_that_vanishes_during_the_scan(
    manager: SkillManager, skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a-skill", "b-folder/inner"):
        write_skill(name.split("/")[-1], into=(skills_dir / name).parent)
    real_scandir = os.scandir

    def scandir(path):
        entries = real_scandir(path)
        if str(path) == str(skills_dir):
            entries = sorted(entries, key=lambda entry: entry.name)
            shutil.rmtree(skills_dir / "a-skill")
            shutil.rmtree(skills_dir / "b-folder")

            class Listed:
                def __enter__(self):
                    return iter(entries)

                def __exit__(self, *_: object) -> None:
                    pass

            return Listed()
        return entries

    monkeypatch.setattr(os, "scandir", scandir)
    assert only_the_good_one(manager) == []


def test_a_file_that_vanishes_between_being_found_and_read(
    manager: SkillManager, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skillkit.core import discovery

    gone = write_skill("gone")
    read_head = discovery.read_head

    def late(path: str):
        if path.startswith(str(gone)):
            shutil.rmtree(gone)
        return read_head(path)

    monkeypatch.setattr(discovery, "read_head", late)
    assert only_the_good_one(manager) == []


def test_a_file_that_becomes_a_fifo_between_being_found_and_read(
    manager: SkillManager, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skillkit.core import discovery

    path = write_skill("fifo") / "SKILL.md"
    read_head = discovery.read_head

    def late(asked: str):
        if asked == str(path):
            path.unlink()
            os.mkfifo(path)
        return read_head(asked)

    monkeypatch.setattr(discovery, "read_head", late)
    assert only_the_good_one(manager) == ["unreadable"]


UNREADABLE = """
import mimetypes, os, sys
import skillkit.core.yaml_header
from skillkit import SkillManager
from skillkit.core.exceptions import ContentLoadError
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
manager = SkillManager(project_skill_dir=sys.argv[1], anthropic_config_dir="")
manager.discover()
print([skill.name for skill in manager.list_skills()])
print(sorted((found.path.name, found.code) for found in manager.diagnostics))
try:
    manager.read_resource("good", "locked/x")
except ContentLoadError as error:
    print("Permission denied" in str(error))
print([resource.path for resource in manager.list_resources("good")])
"""


def test_what_may_not_be_read_costs_a_diagnostic(skills_dir: Path, write_skill, tmp_path: Path) -> None:
    """In a process without privileges, because root may read everything."""
    good = write_skill("good")
    (good / "locked").mkdir()
    (good / "locked" / "x").touch()
    (good / "open.txt").touch()
    (write_skill("unreadable") / "SKILL.md").chmod(0)
    write_skill("inside", into=skills_dir / "closed")
    write_skill("inside", into=skills_dir / "no-entry")
    for ancestor in [tmp_path, *list(tmp_path.parents)[:3]]:
        if ancestor.stat().st_uid == os.geteuid() and ancestor != Path("/tmp"):
            ancestor.chmod(0o755)
    locked = {skills_dir / "closed": 0, skills_dir / "no-entry": 0o444, good / "locked": 0}
    for folder, mode in locked.items():
        folder.chmod(mode)
    try:
        done = subprocess.run(
            [sys.executable, "-c", UNREADABLE, str(skills_dir)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd="/",
            env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        )
    finally:
        for folder in locked:
            folder.chmod(0o755)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "['good']",
        "[('SKILL.md', 'unreadable'), ('closed', 'unreadable'), ('inside', 'unreadable')]",
        "True",
        "['open.txt']",
    ]


# Races

READS = 3000


def swapping(first: Path, second: Path, stop: threading.Event) -> threading.Thread:
    """A thread that keeps exchanging two names until it is told to stop."""
    spare = first.with_name("spare")

    def swap() -> None:
        while not stop.is_set():
            os.rename(first, spare)
            os.rename(second, first)
            os.rename(first, second)
            os.rename(spare, first)

    thread = threading.Thread(target=swap)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_swap_race_never_leaks(tmp_path: Path, kind: str) -> None:
    root, outside = tmp_path / "skill", tmp_path / "outside"
    (root / "docs").mkdir(parents=True)
    outside.mkdir()
    (root / "docs" / "data.txt").write_text("public")
    (outside / "data.txt").write_text("SECRET")
    (outside / "SECRET-name.txt").write_text("SECRET")
    if kind == "folder":
        honest, evil = root / "docs", root / "evil"
        evil.symlink_to(outside)
    else:
        honest, evil = root / "docs" / "data.txt", root / "docs" / "evil"
        evil.symlink_to(outside / "data.txt")
    stop = threading.Event()
    thread = swapping(honest, evil, stop)
    seen: set[str | None] = set()
    refused = 0
    try:
        for number in range(READS):
            try:
                seen.add(read_resource(root, "docs/data.txt").text)
            except (PathSecurityError, ContentLoadError):
                refused += 1
            if number % 10 == 0:
                listed = {Path(resource.path).name for resource in list_resources(root, "SKILL.md")}
                assert "SECRET-name.txt" not in listed
    finally:
        stop.set()
        thread.join()
    assert seen <= {"public"}
    assert seen or refused


def test_a_skill_file_swapped_for_a_link_never_leaks(skills_dir: Path, write_skill, tmp_path: Path) -> None:
    folder = write_skill("pdf", "public")
    (tmp_path / "secret.md").write_text("---\nname: pdf\ndescription: SECRET\n---\nSECRET")
    (folder / "evil").symlink_to(tmp_path / "secret.md")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    stop = threading.Event()
    thread = swapping(folder / "SKILL.md", folder / "evil", stop)
    try:
        for number in range(READS // 2):
            with contextlib.suppress(PathSecurityError, ContentLoadError, SkillNotFoundError):
                assert "SECRET" not in manager.invoke_skill("pdf", str(number % 3))
            if number % 20 == 0:
                manager.refresh()
                assert all("SECRET" not in skill.description for skill in manager.list_skills())
    finally:
        stop.set()
        thread.join()


def test_folders_that_hold_themselves_are_searched_once(skills_dir: Path, write_skill) -> None:
    write_skill("good", into=skills_dir / "group")
    for number in range(8):
        (skills_dir / "group" / f"again{number}").symlink_to(skills_dir / "group")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    assert [skill.name for skill in manager.list_skills()] == ["good"]
    assert manager.diagnostics == ()


def test_a_file_name_that_is_not_utf_8_harms_nobody(skills_dir: Path, write_skill) -> None:
    digests = []
    for name in (b"bad\xff.md", b"bad\xfe.md"):
        folder = write_skill("evil")
        path = os.path.join(os.fsencode(folder), name)
        Path(os.fsdecode(path)).write_text("x")
        digests.append(tree_digest(folder).digest)
        os.unlink(path)
    assert digests[0] != digests[1], "the bytes of a name count"
