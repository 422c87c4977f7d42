"""Long files page by page, and the list of what a skill brings along."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from links import make_links

from skillkit.core import resources
from skillkit.core.exceptions import ContentLoadError
from skillkit.core.resources import MAX_PAGE, Resource, list_resources, read_resource

# Pages

TEXT = "aé€😀\n" * 400


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 100, 4096, 100_000])
def test_pages_put_together_are_the_file(root: Path, limit: int) -> None:
    (root / "long.txt").write_text(TEXT, encoding="utf-8")
    size = len(TEXT.encode())
    pages: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = read_resource(root, "long.txt", offset, limit)
        assert page.text is not None
        assert len(page.text.encode()) <= limit + 3
        assert (page.offset, page.size) == (offset, size)
        assert page.next_offset is None or page.next_offset > offset
        pages.append(page.text)
        offset = page.next_offset
    assert "".join(pages) == TEXT


@settings(deadline=None)
@given(st.text(alphabet="ab\né€😀", max_size=60), st.integers(0, 300), st.integers(1, 50))
def test_a_page_from_anywhere_holds_whole_characters(
    tmp_path_factory: pytest.TempPathFactory, text: str, offset: int, limit: int
) -> None:
    root = tmp_path_factory.getbasetemp()
    (root / "page.txt").write_bytes(text.encode())
    page = read_resource(root, "page.txt", offset, limit)
    assert page.text is not None
    assert "\ufffd" not in page.text
    assert page.text in text


def test_beyond_the_end_there_is_nothing(root: Path) -> None:
    page = read_resource(root, "docs/guide.md", 100)
    assert (page.text, page.next_offset, page.size) == ("", None, 5)


@pytest.mark.parametrize(("offset", "limit"), [(-1, 10), (0, 0), (0, -5), (0, MAX_PAGE + 1)])
def test_a_page_has_a_sensible_size(root: Path, offset: int, limit: int) -> None:
    with pytest.raises(ContentLoadError, match="offset must be 0 or more"):
        read_resource(root, "docs/guide.md", offset, limit)


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("image.png", b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
        ("latin.txt", b"caf\xe9", "text/plain"),
        ("data.bin", bytes(range(256)), "application/octet-stream"),
        ("utf16.txt", "text".encode("utf-16"), "text/plain"),
    ],
)
def test_a_binary_file_is_described_not_handed_out(
    root: Path, name: str, content: bytes, media_type: str
) -> None:
    (root / name).write_bytes(content)
    page = read_resource(root, name)
    assert page.text is None
    assert (page.text, page.size, page.media_type, page.next_offset) == (None, len(content), media_type, None)


def test_a_character_cut_by_the_look_at_the_beginning_is_still_text(root: Path) -> None:
    (root / "long.txt").write_bytes(b"x" * 8191 + "é".encode() + b"y" * 100)
    assert read_resource(root, "long.txt").text is not None
    (root / "empty.md").touch()
    assert read_resource(root, "empty.md").text == ""


def test_five_folders_deep_and_no_deeper(root: Path) -> None:
    folder = root / "a" / "b" / "c" / "d" / "e"
    (folder / "f").mkdir(parents=True)
    (folder / "ok.txt").write_text("ok")
    (folder / "f" / "deep.txt").write_text("deep")
    assert read_resource(root, "a/b/c/d/e/ok.txt").text == "ok"
    with pytest.raises(ContentLoadError, match="6 folders deep"):
        read_resource(root, "a/b/c/d/e/f/deep.txt")
    listed = [resource.path for resource in list_resources(root, "SKILL.md")]
    assert "a/b/c/d/e/ok.txt" in listed
    assert "a/b/c/d/e/f/deep.txt" not in listed


# Lists


def test_the_list_is_sorted_and_has_only_what_can_be_read(root: Path) -> None:
    make_links(root)
    os.mkfifo(root / "fifo")
    (root / "scripts" / "__pycache__").mkdir(parents=True)
    (root / "scripts" / "run.py").write_text("run")
    (root / "scripts" / "__pycache__" / "run.pyc").write_text("x")
    (root / "hid\u200bden.txt").write_text("x")
    (root / "nul.txt").write_text("x")
    assert list_resources(root, "SKILL.md") == [
        Resource("docs/deep/more.txt", 4),
        Resource("docs/guide.md", 5),
        Resource("scripts/run.py", 3),
    ]


@pytest.mark.parametrize(("limit", "value"), [("MAX_RESOURCES", 3), ("MAX_ENTRIES", 3)])
def test_a_list_ends_and_says_so(
    root: Path, limit: str, value: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resources, limit, value)
    for number in range(10):
        (root / f"{number}.txt").touch()
    assert len(list_resources(root, "SKILL.md")) <= 3
    assert "has too many files" in caplog.text


def test_a_folder_that_vanishes_is_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_open = os.open

    def vanishing(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "deep":
            raise FileNotFoundError(path)
        return real_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", vanishing)
    assert [resource.path for resource in list_resources(root, "SKILL.md")] == ["docs/guide.md"]


def test_a_file_that_vanishes_while_it_is_listed_is_left_out(root: Path, monkeypatch) -> None:
    (root / "a.md").write_text("a")
    (root / "b.md").write_text("b")
    scandir = os.scandir

    class Vanishing:
        """The entries of a folder, `a.md` deleted once its name is known."""

        def __init__(self, folder: int) -> None:
            self.entries = scandir(folder)

        def __enter__(self):
            return self

        def __exit__(self, *_) -> None:
            self.entries.close()

        def __iter__(self):
            for entry in self.entries:
                if entry.name == "a.md":
                    (root / "a.md").unlink()
                yield entry

    monkeypatch.setattr(os, "scandir", Vanishing)
    listed = [resource.path for resource in list_resources(root, "SKILL.md")]
    assert "b.md" in listed
    assert "a.md" not in listed


@pytest.mark.parametrize(("changes", "text"), [(1, "new new"), (99, None)])
def test_a_page_of_a_file_that_changes_meanwhile_is_read_again(
    root: Path, changes: int, text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "notes.md"
    file.write_text("old old")
    pread, left = os.pread, iter(range(changes))

    def interrupted(descriptor: int, length: int, offset: int) -> bytes:
        data = pread(descriptor, length, offset)
        if next(left, None) is not None:
            file.write_text("new new new"[: 7 + next(left, 0) % 4] if changes > 1 else "new new")
            os.utime(file, (1, next(left, 0)))
        return data

    monkeypatch.setattr(resources.os, "pread", interrupted)
    if text is not None:
        assert read_resource(root, "notes.md").text == text
        return
    with pytest.raises(ContentLoadError, match="keeps changing"):
        read_resource(root, "notes.md")
