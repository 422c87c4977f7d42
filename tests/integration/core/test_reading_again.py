"""How little of the disk is read, first and again."""

import asyncio
import os
from pathlib import Path

import pytest
from discovered import codes, make_manager, names, settle

from skillkit import SkillManager
from skillkit.core.cache import Stamp
from skillkit.core.digest import tree_digest
from skillkit.core.digest_memo import tree_digests
from skillkit.core.models import InitMode, SkillMetadata
from skillkit.matching import SkillMatcher

# Reading again


class Reads:
    """Counts how often a header is read from disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from skillkit.core import discovery

        self.paths: list[str] = []
        read_head = discovery.read_head

        def counted(path: str) -> tuple[bytes, Stamp]:
            self.paths.append(Path(path).parent.name)
            return read_head(path)

        monkeypatch.setattr(discovery, "read_head", counted)

    def taken(self) -> list[str]:
        taken, self.paths = sorted(self.paths), []
        return taken


def test_refresh_reads_only_what_has_changed(
    manager: SkillManager, skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c", "d"):
        settle(write_skill(name) / "SKILL.md")
    settle(write_skill("broken", header="name: [") / "SKILL.md")
    reads = Reads(monkeypatch)
    manager.discover()
    assert reads.taken() == ["a", "b", "broken", "c", "d"]
    before = manager.get_skill("a")
    assert not manager.refresh()
    assert reads.taken() == []
    settle(write_skill("b", description="Something else") / "SKILL.md")
    settle(write_skill("e") / "SKILL.md")
    os.replace(skills_dir / "c", skills_dir / "c2")
    (skills_dir / "d" / "SKILL.md").unlink()
    changes = manager.refresh()
    assert changes.added == ("project:e",)
    assert changes.removed == ("project:d",)
    assert changes.changed == ("project:b", "project:c")
    assert reads.taken() == ["b", "c2", "e"]
    assert manager.get_skill("a") is before
    assert manager.get_skill("b").description == "Something else"
    assert manager.discover() is None
    assert reads.taken() == []


def test_a_file_that_becomes_readable_is_read_though_it_did_not_change(
    manager: SkillManager, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skillkit.core import discovery

    write_skill("a")
    read_head = discovery.read_head

    def denied(path: str) -> tuple[bytes, Stamp]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(discovery, "read_head", denied)
    manager.discover()
    assert codes(manager) == ["unreadable"]
    monkeypatch.setattr(discovery, "read_head", read_head)
    assert manager.refresh().added == ("project:a",)


def test_refresh_fills_a_manager_that_was_not(manager: SkillManager, write_skill) -> None:
    write_skill("a")
    assert manager.refresh().added == ("project:a",)
    assert manager.init_mode is InitMode.SYNC


def test_only_headers_are_read(skills_dir: Path, write_skill, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill("short", "body\n" * 100_000)
    write_skill("long", "body\n" * 100_000, notes="x" * 10_000)
    count = 0
    real_read = os.read

    def counted(descriptor: int, size: int) -> bytes:
        nonlocal count
        data = real_read(descriptor, size)
        count += len(data)
        return data

    monkeypatch.setattr(os, "read", counted)
    manager = make_manager(skills_dir)
    manager.discover()
    assert names(manager) == ["long", "short"]
    assert count <= 4096 * 2 + 70_000


@pytest.mark.parametrize("notes", [3900, 4030, 4060, 4096, 8000, 60_000])
def test_a_header_of_any_allowed_length_is_read_whole(manager: SkillManager, write_skill, notes: int) -> None:
    write_skill("long", "The body\n" * 3000, notes="x" * notes, license="MIT")
    manager.discover()
    skill = manager.get_skill("long")
    assert skill.license == "MIT"
    assert not skill.recovered
    assert skill.extra == {"notes": "x" * notes}
    assert manager.invoke_skill("long").split("\n\n", 1)[1].startswith("The body")


def test_dashes_in_a_long_header_do_not_end_it_early(manager: SkillManager, write_skill) -> None:
    text = (
        "name: long\ndescription: d\nnotes: |\n  x\n---- not a fence\nx: |\n"
        + "  line\n" * 800
        + "license: MIT"
    )
    write_skill("long", header=text.replace("---- not", "  ---- not"))
    manager.discover()
    assert manager.get_skill("long").license == "MIT"
    assert not manager.get_skill("long").recovered


def test_discovery_and_invocation_see_the_same_body(skills_dir: Path) -> None:
    folder = skills_dir / "open"
    folder.mkdir()
    body = "\n# Title\n" + "words\n" * 20_000 + "---\nend\n"
    (folder / "SKILL.md").write_text(f"---\nname: open\ndescription: d\n{body}")
    manager = make_manager(skills_dir, offer_recovered=True)
    manager.discover()
    assert manager.get_skill("open").recovered
    assert manager.invoke_skill("open").endswith(body.lstrip("\n"))


def test_many_threads_may_discover_at_once(manager: SkillManager, write_skill) -> None:
    for number in range(20):
        write_skill(f"skill-{number}")

    async def everything() -> None:
        await asyncio.gather(
            *(manager.adiscover() for _ in range(8)), *(manager.arefresh() for _ in range(8))
        )

    asyncio.run(everything())
    assert len(manager.list_skills()) == 20


# Files that are being written


def test_a_file_in_the_middle_of_being_written_keeps_its_skill(
    manager: SkillManager, skills_dir: Path, write_skill
) -> None:
    file = write_skill("a", description="whole") / "SKILL.md"
    manager.discover()
    for half in ("", "---\nname: a\ndescr", "---\nname: a\ndescription: whole\n"):
        file.write_text(half)
        assert not manager.refresh()
        assert manager.get_skill("a").description == "whole"
    file.write_text("---\nname: a\ndescription: other\n---\n")
    assert manager.refresh().changed == ("project:a",)
    file.write_text("")
    settle(file)
    assert manager.refresh().removed == ("project:a",)


def test_a_text_that_may_be_half_written_is_not_kept(manager: SkillManager, write_skill) -> None:
    file = write_skill("a", "old " * 100) / "SKILL.md"
    manager.discover()
    stat = file.stat()
    half = file.read_text()[:-200] + "new " * 50
    file.write_text(half)  # the reader comes between the two halves of one write, within a tick
    assert manager.invoke_skill("a").endswith("old new " + "new " * 49)
    file.write_text(half.replace("old ", "new "))
    os.utime(file, ns=(stat.st_atime_ns, file.stat().st_mtime_ns))
    assert "old" not in manager.invoke_skill("a")


def test_an_edit_that_keeps_size_and_time_is_seen(manager: SkillManager, write_skill) -> None:
    file = write_skill("a", "old") / "SKILL.md"
    manager.discover()
    assert manager.invoke_skill("a").endswith("old")
    times = file.stat()
    with file.open("r+") as opened:
        opened.write(file.read_text().replace("old", "new"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert manager.invoke_skill("a").endswith("new")


def test_no_cache_keeps_what_is_changed_within_a_tick(manager: SkillManager, write_skill) -> None:
    """Same size, in place, with the old times: only the time of the change itself differs, if at all."""
    folder = write_skill("a", "0000")
    file = folder / "SKILL.md"
    manager.discover()
    times = file.stat()
    body = file.read_bytes()
    indexed: list[str] = []

    def read_body(skill: SkillMetadata) -> str:
        indexed.append(skill.skill_path.read_text()[-4:])
        return indexed[-1]

    matcher = SkillMatcher([], mode="lexical", body=read_body)

    def write(number: int) -> None:
        with file.open("r+b", buffering=0) as opened:
            text = body.replace(b"0000", b"%04d" % number)
            opened.write(text.replace(b"What a", b"Wh%02d a" % (number % 90)))
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    for number in range(1, 60, 2):
        for each in (number, number + 1):
            write(each)
            manager.refresh()
            matcher.update(manager.list_skills())
            matcher.prepare()
            assert indexed[-1] == f"{each:04}"
            assert manager.invoke_skill("a").endswith(f"{each:04}")
            assert manager.get_skill("a").description == f"Wh{each % 90:02} a does"
            assert tree_digests.plain(folder).digest == tree_digest(folder).digest
