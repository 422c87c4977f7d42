"""A tree made to exhaust whoever walks it is refused by an error of ours."""

import contextlib
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core import digest
from skillkit.core.digest import tree_digest
from skillkit.core.disk import remove_tree
from skillkit.core.exceptions import SizeLimitExceededError
from skillkit.core.resources import list_resources
from skillkit.scripts.sandbox import supervisor


@pytest.fixture
def bottomless(skills_dir: Path) -> Iterator[Path]:
    """A skill with folders far deeper than a path can name."""
    root = skills_dir / "deep"
    root.mkdir()
    (root / "SKILL.md").write_text("---\nname: deep\ndescription: d\n---\n")
    here = os.open(root, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("a", dir_fd=here)
        below = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    yield root
    # From the top: each folder is moved up before its parent is removed, so that no path gets long.
    while (root / "a").exists():
        os.rename(root / "a", root.parent / "spare")
        shutil.rmtree(root)
        os.rename(root.parent / "spare", root)


def test_folders_without_a_bottom(bottomless: Path, skills_dir: Path) -> None:
    with pytest.raises(SizeLimitExceededError, match="deep"):
        tree_digest(bottomless)
    assert list_resources(bottomless, "SKILL.md") == []
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", include_nested=True)
    manager.discover()
    assert [skill.name for skill in manager.list_skills()] == ["deep"]
    assert [found.code for found in manager.diagnostics] == ["depth-limit"]


def test_folders_without_a_bottom_are_removed(bottomless: Path) -> None:
    """As scripts and downloads can leave them behind; each level of a call for each folder has an end."""
    (bottomless / "a" / "link").symlink_to(bottomless / "SKILL.md")
    (bottomless / "a").chmod(0)
    remove_tree(bottomless / "a")
    assert [path.name for path in bottomless.iterdir()] == ["SKILL.md"]


@pytest.mark.parametrize("remove", [remove_tree, lambda path: supervisor.remove_tree(str(path))])
def test_an_empty_folder_is_removed_where_no_descriptor_is_left(
    tmp_path: Path, remove: Callable[[Path], None]
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as taken:
        taken.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        highest = max(map(int, os.listdir("/proc/self/fd")))
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, hard))
        with contextlib.suppress(OSError):
            while True:
                taken.callback(os.close, os.dup(0))
        remove(folder)
        assert not os.path.lexists(folder)


def test_folders_without_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "TREE_ENTRIES", 50)
    for number in range(60):
        (tmp_path / f"{number}").mkdir()
    with pytest.raises(SizeLimitExceededError, match="more than 50 files and folders"):
        tree_digest(tmp_path, max_files=10)


def test_a_tree_of_folders_alone_has_a_digest(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert tree_digest(tmp_path).files == {}
