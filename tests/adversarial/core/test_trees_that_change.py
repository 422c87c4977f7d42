"""A tree that cannot be read, or changes while it is read: an error of ours, and the others stay."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillkit.core import pinned_trees
from skillkit.core.digest import chunks_of
from skillkit.core.exceptions import ContentLoadError, SizeLimitExceededError
from skillkit.core.file_sharing import shared_files
from skillkit.core.pinned_trees import links_of
from skillkit.core.resources import list_resources, read_resource
from skillkit.scripts import catalogue, find_scripts

AS_NOBODY = """
import os, sys
from pathlib import Path
from skillkit.core.disk import real_path
from skillkit.core.resources import list_resources
from skillkit.install.sources.folder import FolderSource, OpenFolder
from skillkit.install.tree import TreeLimits
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
"""


def as_nobody(code: str, *arguments: object) -> str:
    """What `code` prints in a process without privileges, because root may read everything."""
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def reachable(tmp_path: Path) -> Path:
    for ancestor in [tmp_path, *list(tmp_path.parents)[:3]]:
        if ancestor.stat().st_uid == os.geteuid() and ancestor != Path("/tmp"):
            ancestor.chmod(0o755)
    return tmp_path


@pytest.mark.skipif(not Path("/proc/1/root").is_symlink(), reason="there is no /proc")
def test_a_link_that_may_not_be_read_has_a_path_all_the_same() -> None:
    code = """
print(real_path(Path("/proc/1/root/etc/../x")))
"""
    assert as_nobody(code) == "/proc/1/root/x\n"


def test_a_skill_that_may_not_be_read_costs_itself_alone(reachable: Path, write_skill) -> None:
    for name in ("good", "locked"):
        write_skill(name, into=reachable / "source")
    (reachable / "source" / "locked" / "SKILL.md").chmod(0)
    code = """
opened = OpenFolder(FolderSource(Path(sys.argv[1])))
found = opened.read(["good", "locked"], TreeLimits())
print([type(each).__name__ for each in found], [len(each) > 0 for each in opened.headers(["good", "locked"])])
"""
    assert as_nobody(code, reachable / "source") == "['SkillTree', 'InstallError'] [True, False]\n"


def test_a_file_that_cannot_be_read_on_is_an_error_of_ours(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(ContentLoadError, match="Cannot read 'x' in"):
            list(chunks_of(folder, "x", tmp_path))
    finally:
        os.close(folder)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no /proc")
def test_a_page_that_cannot_be_read_is_an_error_of_ours() -> None:
    with pytest.raises(ContentLoadError, match="Cannot read 'mem'"):
        read_resource(Path("/proc/self"), "mem")


def test_files_that_vanished_meanwhile_are_shared_with_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.link(tmp_path / "file", tmp_path / "again")
    assert shared_files(tmp_path, ["again", "gone", "file/below"]) == ["again"]


def test_looking_for_links_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned_trees, "TREE_ENTRIES", 10)
    (tmp_path / "link").symlink_to("x")
    assert links_of(tmp_path) == {"link": "x"}
    for number in range(10):
        (tmp_path / f"{number}").touch()
    with pytest.raises(SizeLimitExceededError, match="more than 10 files and folders"):
        links_of(tmp_path)


def test_a_script_that_vanishes_takes_no_other_along(write_skill, monkeypatch: pytest.MonkeyPatch) -> None:
    from skillkit.core.parser import SkillParser

    folder = write_skill("pdf")
    (folder / "scripts").mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (folder / "scripts" / name).touch()
    looked = catalogue._is_script

    def vanishing(name: str, mode: int, descriptor: int) -> bool:
        (folder / "scripts" / "b.py").unlink(missing_ok=True)
        return looked(name, mode, descriptor)

    monkeypatch.setattr(catalogue, "_is_script", vanishing)
    skill = SkillParser().parse_skill_file(folder / "SKILL.md")
    assert [script.name for script in find_scripts(skill)] == ["a", "c"]


def test_a_file_without_a_status_is_not_listed(tmp_path: Path, reachable: Path) -> None:
    """A folder that may be listed and not entered."""
    closed = reachable / "closed"
    closed.mkdir()
    (closed / "x").touch()
    closed.chmod(0o444)
    code = """
print(list_resources(Path(sys.argv[1]), "SKILL.md"))
"""
    try:
        assert as_nobody(code, closed) == "[]\n"
    finally:
        closed.chmod(0o755)
    assert [each.path for each in list_resources(closed, "SKILL.md")] == ["x"]
