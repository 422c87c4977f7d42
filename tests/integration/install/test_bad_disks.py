"""A disk that is full, read-only or has no room for a file: an error of ours, and the state before."""

import fcntl
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from skillkit.core.disk import locked
from skillkit.install.exceptions import InstallError
from skillkit.install.installer import SkillInstaller
from skillkit.install.registry import InstallRegistry

NAMESPACE = ["unshare", "-r", "-m"]
PROGRAM = """
import resource, subprocess, sys
from pathlib import Path
from skillkit.install.exceptions import InstallError
from skillkit.install.installer import SkillInstaller

home, skill, trouble = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
installer = SkillInstaller(home, consent=lambda _: True)
if trouble == "file size":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
else:
    subprocess.run(["mount", *trouble.split(), str(home)], check=True)
try:
    print("installed", installer.add(skill, name="new"))
except InstallError as error:
    print(type(error).__name__, error)
for action in (lambda: installer.remove("pdf"), lambda: installer.trust("pdf")):
    try:
        action()
    except InstallError as error:
        print(type(error).__name__)
print([skill.name for skill in installer.list()], [check.intact for check in installer.verify()])
"""


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "pdf"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads PDF files\n---\n")
    (folder / "notes.md").write_text("x" * 5000)
    return folder


@pytest.mark.parametrize(
    ("trouble", "reason", "left"),
    [
        ("file size", "File too large", "['pdf'] [True]"),
        ("-o remount,bind,ro", "Read-only file system", "['pdf'] [True]"),
        ("-t tmpfs -o size=64k none", "No space left on device", "[] []"),
        ("-t tmpfs -o nr_inodes=7 none", "No space left on device", "[] []"),
    ],
)
def test_a_disk_that_cannot_be_written_is_said_and_changes_nothing(
    trouble: str, reason: str, left: str, tmp_path: Path, skill: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    SkillInstaller(home, consent=lambda _: True).add(str(skill))
    if shutil.which("unshare") is None or subprocess.run([*NAMESPACE, "true"], check=False).returncode:
        pytest.skip("this machine gives users no namespace of mounts")
    prepare = f"mount --bind {home} {home} && exec " if "remount" in trouble else "exec "
    command = [*NAMESPACE, "sh", "-c", f'{prepare} "$@"', "sh", sys.executable, "-c", PROGRAM]
    # Coverage would have a file of its own to write, and no room for it either.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [*command, home, skill, trouble], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stderr == ""
    first, *_, last = done.stdout.splitlines()
    reported = first.startswith("DiskError Cannot read or write") and reason in first
    assert reported or first.startswith("DiskError Not enough space")
    assert last == left


def test_a_home_that_is_a_file_is_an_error_of_ours(tmp_path: Path, skill: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(InstallError, match=r"home.*Not a directory"):
        SkillInstaller(tmp_path / "home", consent=lambda _: True).add(str(skill))


@pytest.mark.parametrize("damage", [b"", b"{", b"\0" * 300, None])
def test_what_was_enabled_survives_a_lost_registry(damage: bytes | None, tmp_path: Path, skill: Path) -> None:
    home = tmp_path / "home"
    SkillInstaller(home, consent=lambda _: True).add(str(skill))
    registry = InstallRegistry(home)
    for chosen in ("pdf", "pdf,xls"):
        with registry.transaction() as state:
            state.selection = chosen
    if damage is None:
        registry.file.path.unlink()
    else:
        registry.file.path.write_bytes(damage)
    state = InstallRegistry(home).load()
    assert (list(state.skills), state.selection) == (["pdf"], "pdf,xls")


def test_a_lock_that_is_a_link_creates_nothing_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_that_was_deleted_while_it_was_waited_for_is_taken_anew(tmp_path: Path) -> None:
    """Its holder let go of a file that nobody finds any more: two owners would hold two files."""
    lock = tmp_path / "lock"
    waiting = threading.Event()
    held: list[bool] = []

    def wait() -> None:
        with locked(lock, waiting.set):
            descriptor = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held.append(False)
            except BlockingIOError:
                held.append(True)
            finally:
                os.close(descriptor)

    with locked(lock):
        other = threading.Thread(target=wait)
        other.start()
        waiting.wait()
        lock.unlink()
        lock.touch()
    other.join()
    assert held == [True]
