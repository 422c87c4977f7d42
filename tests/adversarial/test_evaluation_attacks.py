"""What a skill's own tests and scripts leave for the tester to read can lead it nowhere else."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skillkit.core.disk import remove_tree
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.limits import CASE_BYTES, CASE_FILES
from skillkit.evaluation import SkillTester, find_targets
from skillkit.evaluation.behaviour.executor import files_in, plain_files
from skillkit.evaluation.cases import CaseFile
from skillkit.evaluation.formats.waza import _matching
from skillkit.evaluation.workspace import workspace


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


@pytest.fixture
def private(tmp_path: Path) -> Path:
    file = tmp_path / "private" / "key"
    file.parent.mkdir()
    file.write_text("secret")
    return file


def place_link(inputs: Path, private: Path) -> None:
    (inputs / "notes").symlink_to(private)


def place_link_to_folder(inputs: Path, private: Path) -> None:
    (inputs / "notes").symlink_to(private.parent)


def place_fifo(inputs: Path, private: Path) -> None:
    os.mkfifo(inputs / "notes")


def place_sparse_files(inputs: Path, private: Path) -> None:
    for number in range(3):
        with open(inputs / f"{number}", "wb") as file:
            file.truncate(CASE_BYTES // 2)


def place_many_files(inputs: Path, private: Path) -> None:
    for number in range(CASE_FILES + 1):
        (inputs / f"{number}").touch()


@pytest.mark.parametrize(
    "attack", [place_link, place_link_to_folder, place_fifo, place_sparse_files, place_many_files]
)
def test_the_inputs_of_a_case_are_plain_files_beneath_its_folder(
    attack: Callable[[Path, Path], None], tmp_path: Path, private: Path
) -> None:
    """A link to a key of the user's reached the script under test and the report."""
    skill = tmp_path / "skill"
    inputs = skill / "evals" / "inputs"
    inputs.mkdir(parents=True)
    (inputs / "0-own").write_text("mine")
    with workspace([CaseFile("inputs", "inputs")], (skill, inputs.parent)) as folder:
        assert (folder / "inputs" / "0-own").read_text() == "mine"
    attack(inputs, private)
    opened = workspace([CaseFile("inputs", "inputs")], (skill, inputs.parent))
    with pytest.raises(ConfigurationError, match=r"plain files|larger|more than"):
        opened.__enter__()


@pytest.mark.parametrize(
    "named", ["../private/key", "/etc/passwd", "evals/up/key", "evals/inputs/../../../private/key"]
)
def test_a_case_names_nothing_outside_of_its_folder(named: str, tmp_path: Path, private: Path) -> None:
    skill = tmp_path / "skill"
    (skill / "evals" / "inputs").mkdir(parents=True)
    (skill / "evals" / "up").symlink_to(private.parent)
    for file in (CaseFile("copy", named), CaseFile(named, content="x")):
        if file.content is None or not named.startswith("evals/up"):
            with pytest.raises(ConfigurationError):
                workspace([file], (skill, skill / "evals")).__enter__()
    assert private.read_text() == "secret"


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
