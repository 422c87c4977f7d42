"""Tier 1 on real folders: what is found, and in which order."""

import os
from pathlib import Path

import pytest
from discovered import codes, make_manager, names

from skillkit import SkillManager
from skillkit.core import walk
from skillkit.core.models import InitMode, SourceType

# What is found


def test_skills_are_found_sorted_with_their_metadata(manager: SkillManager, write_skill) -> None:
    for name in ("zebra", "apple", "mango"):
        write_skill(name, version="1.0", model="small", allowed_tools="Read Bash")
    assert manager.init_mode is InitMode.UNINITIALIZED
    assert manager.list_skills() == []
    manager.discover()
    assert manager.init_mode is InitMode.SYNC
    assert names(manager) == ["apple", "mango", "zebra"]
    apple = manager.get_skill("apple")
    assert apple.description == "What apple does"
    assert apple.allowed_tools == ("Read", "Bash")
    assert (apple.version, apple.model, apple.source) == ("1.0", "small", SourceType.PROJECT)
    assert apple.file_path == apple.base_dir / "SKILL.md"
    assert manager.diagnostics == ()


async def test_async_discovery_finds_the_same(skills_dir: Path, write_skill) -> None:
    for name in ("a", "b"):
        write_skill(name)
    first, second = make_manager(skills_dir), make_manager(skills_dir)
    await first.adiscover()
    second.discover()
    assert first.init_mode is InitMode.ASYNC
    assert first.list_skills() == second.list_skills()
    assert await first.arefresh() == second.refresh()


def test_order_does_not_depend_on_the_disk(
    skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("c", "a", "b"):
        write_skill(name, header="name: same\ndescription: d")
    winners = set()
    real_scandir = os.scandir

    class Reversed:
        def __init__(self, path: str) -> None:
            self.entries = sorted(real_scandir(path), key=lambda entry: entry.name, reverse=True)

        def __enter__(self):
            return iter(self.entries)

        def __exit__(self, *_: object) -> None:
            pass

    for scandir in (real_scandir, Reversed):
        monkeypatch.setattr(os, "scandir", scandir)
        manager = make_manager(skills_dir)
        manager.discover()
        winners.add(manager.get_skill("same").skill_path)
    assert winners == {skills_dir / "a" / "SKILL.md"}


@pytest.mark.parametrize(("depth", "found"), [(0, True), (1, True), (12, True), (13, False)])
def test_skills_are_found_twelve_folders_deep(skills_dir: Path, write_skill, depth: int, found: bool) -> None:
    folder = skills_dir
    for level in range(1, depth):
        folder = folder / f"level-{level}"
    if depth == 0:
        (skills_dir / "SKILL.md").write_text("---\nname: deep\ndescription: d\n---\n")
    else:
        write_skill("deep", into=folder)
    manager = make_manager(skills_dir)
    manager.discover()
    assert (names(manager) == ["deep"]) is found
    assert ("depth-limit" in codes(manager)) is not found


def test_the_depth_can_be_chosen(skills_dir: Path, write_skill) -> None:
    write_skill("near", into=skills_dir / "a")
    write_skill("far", into=skills_dir / "a" / "b")
    write_skill("farther", into=skills_dir / "a" / "b")
    manager = make_manager(skills_dir, max_depth=2)
    manager.discover()
    assert names(manager) == ["near"]
    [found] = manager.diagnostics
    assert (found.code, found.severity.value) == ("depth-limit", "warning")
    assert "and 1 more: deeper than 2 folders" in found.message


def test_the_number_of_folders_is_bounded_and_said(skills_dir: Path, write_skill) -> None:
    for number in range(20):
        write_skill(f"skill-{number:02}")
    manager = make_manager(skills_dir, max_folders=11)
    manager.discover()
    assert names(manager) == [f"skill-{number:02}" for number in range(10)]
    [found] = manager.diagnostics
    assert (found.code, found.path) == ("folder-limit", skills_dir)
    assert "11 folders" in found.message
    exact = make_manager(skills_dir, max_folders=21)
    exact.discover()
    assert exact.diagnostics == ()


@pytest.mark.parametrize(("limit", "value"), [("MAX_ENTRIES", 10), ("MAX_ALL_ENTRIES", 15)])
def test_a_folder_with_very_many_entries_costs_a_diagnostic(
    skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(walk, limit, value)
    crowded = skills_dir / "z-crowded"
    crowded.mkdir()
    for number in range(50):
        (crowded / f"{number}.txt").touch()
    write_skill("good")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["good"]
    [found] = manager.diagnostics
    assert (found.code, found.path) == ("entry-limit", crowded)


@pytest.mark.parametrize(
    "folder", [".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", "site-packages", ".tox"]
)
def test_folders_of_tools_are_skipped(skills_dir: Path, write_skill, folder: str) -> None:
    write_skill("hidden", into=skills_dir / folder)
    write_skill("seen")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["seen"]


def test_a_virtual_environment_is_known_by_its_mark(skills_dir: Path, write_skill) -> None:
    write_skill("hidden", into=skills_dir / "my-environment" / "lib")
    (skills_dir / "my-environment" / "pyvenv.cfg").touch()
    (skills_dir / "pyvenv.cfg").touch()
    write_skill("seen")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["seen"]


def test_what_lies_inside_a_skill_is_found_only_when_asked(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    outer = write_skill("outer")
    write_skill("inner", into=outer / "examples")
    outside = write_skill("outside", into=tmp_path / "elsewhere")
    (outer / "link").symlink_to(outside)
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["outer"]
    asked = make_manager(skills_dir, include_nested=True)
    asked.discover()
    assert names(asked) == ["inner", "outer"], "a symbolic link inside a skill is never followed"


def test_a_skill_in_the_root_does_not_hide_the_others(skills_dir: Path, write_skill) -> None:
    (skills_dir / "SKILL.md").write_text("---\nname: index\ndescription: d\n---\n")
    write_skill("other")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["index", "other"]


@pytest.mark.parametrize("spelling", ["skill.md", "Skill.md", "SKILL.MD"])
def test_other_spellings_of_the_file_are_found(skills_dir: Path, write_skill, spelling: str) -> None:
    folder = write_skill("odd")
    os.rename(folder / "SKILL.md", folder / spelling)
    write_skill("inside", into=folder / "sub")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["odd"]
    assert manager.invoke_skill("odd").endswith("# Instructions\n")
    assert not manager.refresh()


# Symbolic links and the same folder twice


def test_a_symlinked_skill_folder_is_followed_and_counts_once(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    real = write_skill("real", into=tmp_path / "elsewhere")
    (skills_dir / "a-link").symlink_to(real)
    (skills_dir / "b-link").symlink_to(real)
    (skills_dir / "folder-link").symlink_to(tmp_path / "elsewhere")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["real"]
    assert manager.get_skill("real").base_dir == skills_dir / "a-link"
    assert codes(manager) == ["name-folder"]


def test_loops_end(skills_dir: Path, write_skill) -> None:
    (skills_dir / "sub").mkdir()
    (skills_dir / "sub" / "up").symlink_to(skills_dir)
    (skills_dir / "sub" / "self").symlink_to(skills_dir / "sub")
    (skills_dir / "ring").symlink_to(skills_dir / "ring")
    write_skill("good")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["good"]
    assert not {"folder-limit", "depth-limit"} & set(codes(manager)), "no folder is listed twice"


def test_the_same_folder_in_two_sources_counts_once(skills_dir: Path, write_skill, tmp_path: Path) -> None:
    write_skill("one")
    (tmp_path / "link").symlink_to(skills_dir)
    manager = make_manager(
        skills_dir, additional_search_paths=[skills_dir, tmp_path / "link", skills_dir / "one"]
    )
    manager.discover()
    assert names(manager) == ["one"]
    assert manager.diagnostics == ()
    assert manager.list_skills(include_qualified=True) == ["one"]


def test_a_link_to_a_folder_that_holds_the_skills_is_not_followed(
    tmp_path: Path, skills_dir: Path, write_skill
) -> None:
    write_skill("one")
    write_skill("beside", into=tmp_path / "other")
    (skills_dir / "everything").symlink_to("/")
    (skills_dir / "up").symlink_to("..")
    (skills_dir / "other").symlink_to(tmp_path / "other")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["beside", "one"]
    [found] = manager.diagnostics
    assert (found.path, found.code) == (skills_dir / "everything", "link-above")
    assert "and 1 more" in found.message


def test_a_link_to_where_there_are_no_skills_is_not_searched_for_long(
    tmp_path: Path, skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "MAX_BARREN", 20)
    write_skill("one")
    write_skill("z-last", into=tmp_path / "disk")
    write_skill("late", into=tmp_path / "library")
    for number in range(30):
        (tmp_path / "disk" / f"a{number:02}" / "sub").mkdir(parents=True)
        (tmp_path / "library" / f"a{number:02}" / "sub").mkdir(parents=True)
        write_skill(f"s{number}", into=tmp_path / "library" / f"a{number:02}")
    for name in ("disk", "library"):
        (skills_dir / name).symlink_to(tmp_path / name)
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == sorted(["one", "late", *(f"s{number}" for number in range(30))])
    [found] = manager.diagnostics
    assert (found.path, found.code) == (skills_dir / "disk", "folder-limit")


def test_hard_links_in_two_folders_are_two_skills(skills_dir: Path, write_skill) -> None:
    first = write_skill("first", header="name: twin\ndescription: d")
    for name in ("second", "third"):
        (skills_dir / name).mkdir()
        os.link(first / "SKILL.md", skills_dir / name / "SKILL.md")
    (skills_dir / "zz-link").symlink_to(skills_dir / "second")
    manager = make_manager(skills_dir)
    manager.discover()
    qualified = manager.list_skills(include_qualified=True)
    assert qualified == ["twin", "project:skills/second", "project:skills/third"]
    assert {manager.get_skill(name).base_dir.name for name in qualified} == {"first", "second", "third"}
    assert not manager.refresh()


def test_a_skill_file_may_be_a_link_inside_its_folder_only(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    inside = write_skill("inside")
    os.rename(inside / "SKILL.md", inside / "real.md")
    (inside / "SKILL.md").symlink_to("real.md")
    outside = skills_dir / "outside"
    outside.mkdir()
    (tmp_path / "secret.md").write_text("---\nname: outside\ndescription: SECRET\n---\nSECRET")
    (outside / "SKILL.md").symlink_to(tmp_path / "secret.md")
    dangling = skills_dir / "dangling"
    dangling.mkdir()
    (dangling / "SKILL.md").symlink_to("nothing.md")
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["inside"]
    assert manager.invoke_skill("inside").endswith("# Instructions\n")
    by_path = {found.path.parent.name: found for found in manager.diagnostics}
    assert by_path["outside"].code == "symlink-outside"
    assert by_path["dangling"].code == "unreadable"
    assert "SECRET" not in str(manager.diagnostics)


def test_a_link_that_starts_to_leave_is_refused_at_invocation(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    folder = write_skill("pdf")
    manager = make_manager(skills_dir)
    manager.discover()
    (tmp_path / "secret.md").write_text("---\nname: pdf\ndescription: d\n---\nSECRET")
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(Exception, match="leaves the skill's folder"):
        manager.invoke_skill("pdf")
