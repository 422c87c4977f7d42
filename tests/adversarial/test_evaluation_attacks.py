"""What a skill's own tests and scripts leave for the tester to read can lead it nowhere else."""

import os
from pathlib import Path

import pytest

from skillkit.core.disk import remove_tree
from skillkit.evaluation import SkillTester, find_targets
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


@pytest.mark.parametrize(
    "line",
    [
        " " * 300_000 + "x",
        "\t" * 300_000 + "x",
        "*" * 300_000,
        "# " + " " * 300_000 + "x",
        "# a" + "#" * 300_000 + "x",
        "# " + "[" * 300_000,
        "# " + "<" * 300_000,
        "<a " * 100_000,
        "1" * 300_000,
        "a" + " " * 300_000 + "—",
    ],
    ids=lambda line: repr(line[:5]),
)
def test_a_line_made_to_hang_costs_nothing(line: str, tmp_path: Path) -> None:
    """A search that gives back a long run piece by piece would take hours; here it answers at all."""
    folder = tmp_path / "evil"
    (folder / "references").mkdir(parents=True)
    header = "---\nname: evil\ndescription: Does something with files. Use when needed.\n---\n"
    (folder / "SKILL.md").write_text(f"{header}{line}\nSee references/more.md\n")
    (folder / "references" / "more.md").write_text(f"{line}\n\n[x](#y)\n")
    targets = find_targets([folder])
    report = SkillTester(targets.skills, targets.suites).run_static()
    assert "files-exist" in {result.id for result in report.results}
