"""What a skill's own tests and scripts leave for the tester to read can lead it nowhere else."""

import os
from pathlib import Path

import pytest

from skillkit.core.disk import remove_tree
from skillkit.evaluation.behaviour.transcript import files_in, plain_files
from skillkit.evaluation.formats.waza import _matching


def test_what_a_script_left_behind_is_read_without_following_it(tmp_path: Path) -> None:
    """A script under test could have any file of the machine put into the report by a link to it."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "sub" / "own.txt").write_text("mine")
    (tmp_path / "secret.txt").write_text("secret")
    (work / "leak.txt").symlink_to(tmp_path / "secret.txt")
    (work / "leak").symlink_to(tmp_path)
    os.mkfifo(work / "pipe")
    with open(work / "large", "wb") as file:
        file.truncate(1 << 40)
    assert files_in(work) == {"sub/own.txt": "mine"}


def test_folders_deeper_than_any_path_stop_no_test(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (tmp_path / "own.txt").touch()
    assert [path.name for path in plain_files(tmp_path, 100)] == ["own.txt"]
    remove_tree(tmp_path / "d")


@pytest.mark.parametrize("pattern", ["", "**a", "a\0b", "**/" * 40 + "x", "[" * 5000, "*/" * 2000])
def test_a_pattern_that_nobody_can_follow_names_no_task(pattern: str, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / "a" / f"{number}" / "b" / "c").mkdir(parents=True)
    assert _matching(tmp_path, pattern) == []
