"""The memory of digests: right whatever happens to the files, and without reading them again."""

import os
import time
from pathlib import Path

import pytest

from skillkit.core import digest_memo
from skillkit.core.digest import TreeDigest, tree_digest
from skillkit.core.digest_memo import DigestMemo
from skillkit.core.exceptions import SkillsUseError


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders whose files were read."""
    read: list[Path] = []

    def counting(folder: Path, **limits: int) -> TreeDigest:
        read.append(folder)
        return tree_digest(folder, **limits)

    monkeypatch.setattr(digest_memo, "tree_digest", counting)
    return read


def settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the files had been written long ago."""
    monkeypatch.setattr(digest_memo, "_SETTLED_NS", -(10**18))


def test_a_digest_is_remembered_until_anything_changes(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "b.txt"
    file.write_text("one")
    memo = DigestMemo()
    first = memo.with_links(tmp_path).digest
    assert first.startswith("sha256:")
    assert memo.with_links(tmp_path).digest == memo.plain(tmp_path).digest == first
    assert len(hashed) == 1
    file.write_text("two")
    second = memo.with_links(tmp_path).digest
    file.chmod(0o755)
    third = memo.with_links(tmp_path).digest
    (tmp_path / "link").symlink_to("/etc")
    fourth = memo.with_links(tmp_path).digest
    assert fourth.startswith("with-links:")
    with pytest.raises(SkillsUseError, match="symbolic link"):
        memo.plain(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("/usr")
    assert len({first, second, third, fourth, memo.with_links(tmp_path).digest}) == 5


def test_what_was_written_just_before_a_slow_reading_is_read_again(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time the digest is there the file has settled; what was read of it may be half a write."""
    (tmp_path / "SKILL.md").write_text("one")
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 60 * 10**9 * len(hashed))
    memo = DigestMemo()
    memo.plain(tmp_path)
    memo.plain(tmp_path)
    assert len(hashed) == 2


def test_a_change_in_the_same_tick_of_the_clock_is_seen(tmp_path: Path, hashed: list[Path]) -> None:
    """A file system may give two changes one time: what was written just now is read again."""
    file = tmp_path / "SKILL.md"
    memo = DigestMemo()
    seen = set()
    for number in range(50):
        file.write_text(f"{number:04}")
        seen.add(memo.plain(tmp_path).digest)
    assert len(seen) == 50
    before = len(hashed)
    memo.plain(tmp_path)
    assert len(hashed) == before + 1


def test_a_time_that_was_set_back_hides_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    file = tmp_path / "SKILL.md"
    file.write_text("good")
    os.utime(file, ns=(10**18, 10**18))
    memo = DigestMemo()
    first = memo.plain(tmp_path)
    with open(file, "r+") as opened:
        opened.write("evil")
    os.utime(file, ns=(10**18, 10**18))
    assert memo.plain(tmp_path) != first


def test_a_folder_that_is_too_large_or_gone_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(SkillsUseError, match="Cannot read"):
        DigestMemo().plain(tmp_path / "gone")
    with open(tmp_path / "big", "wb") as file:
        file.truncate(300 << 20)
    with pytest.raises(SkillsUseError, match="too large"):
        DigestMemo().plain(tmp_path)


def test_a_bottomless_folder_has_no_digest(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 60)
    deep.mkdir(parents=True)
    with pytest.raises(SkillsUseError, match="more than 32 deep"):
        DigestMemo().with_links(tmp_path)


def test_only_so_many_digests_are_kept(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    monkeypatch.setattr(digest_memo, "_MAX_TREES", 2)
    memo = DigestMemo()
    for name in "abca":
        (tmp_path / name).mkdir(exist_ok=True)
        memo.plain(tmp_path / name)
    assert [folder.name for folder in hashed] == ["a", "b", "c", "a"]
