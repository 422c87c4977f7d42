"""Tier 3: any file beneath the skill's root, a page at a time, and nothing outside it."""

import logging
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from links import make_links

from skillkit import SkillManager
from skillkit.core import resources
from skillkit.core.exceptions import ContentLoadError, PathSecurityError, SkillsUseError
from skillkit.core.file_sharing import is_shared
from skillkit.core.path_resolver import FilePathResolver, open_beneath
from skillkit.core.resources import list_resources, read_resource

ESCAPES = [
    "../secret.txt",
    "../sibling/data.csv",
    "docs/../../secret.txt",
    "docs/../../skill/../secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "\\etc\\passwd",
    "docs\\..\\..\\secret.txt",
    "C:\\secret.txt",
    "c:/secret.txt",
    "~/secret.txt",
    "~root/.ssh/id_rsa",
    "..",
    "../",
    "./../secret.txt",
    "docs/guide.md\0.png",
    "\0",
    "docs/\u202eguide.md",
    "doc\u200bs/guide.md",
    "\uff0e\uff0e/secret.txt",
    "\u2025/secret.txt",
    "docs\uff0f..\uff0f..\uff0fsecret.txt",
    "docs\uff3cguide.md",
    "guide.md\n",
    "CON",
    "nul.txt",
    "docs/aux",
    "COM1",
    "lpt9.log",
    "nul .txt",
    "CONIN$",
    "PROGRA~1",
    "docs/guide~12.md",
    "\ud800",
]
LINKS_OUT = ["out.txt", "out-absolute.txt", "out-folder/secret.txt", "docs/out-twice/data.csv"]
LINKS_OUT += ["root/etc/passwd", "almost", "loop", "ping", "inside/out-twice/data.csv"]


@pytest.mark.parametrize("path", ESCAPES + LINKS_OUT)
def test_every_escape_is_refused_named_and_logged(
    root: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_links(root)
    for attempt in (lambda: read_resource(root, path), lambda: FilePathResolver.resolve_path(root, path)):
        caplog.clear()
        with pytest.raises(PathSecurityError) as caught:
            attempt()
        assert caught.value.requested_path == path
        assert caught.value.base_directory == str(root)
        [record] = caplog.records
        assert record.levelno == logging.ERROR
        assert "SECURITY VIOLATION" in record.getMessage()
        assert record.getMessage().isprintable()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/guide.md", "Guide"),
        ("./docs//guide.md", "Guide"),
        ("docs/deep/more.txt", "More"),
        ("inside/guide.md", "Guide"),
        ("inside/deep/more.txt", "More"),
        ("inside-absolute/guide.md", "Guide"),
        ("inside-file.md", "Guide"),
        ("docs/up.md", "Guide"),
    ],
)
def test_files_inside_are_read_also_by_links_that_stay_inside(root: Path, path: str, text: str) -> None:
    make_links(root)
    assert read_resource(root, path).text == text
    assert FilePathResolver.resolve_path(root, path).read_text() == text


def test_a_root_behind_a_link_is_a_root(root: Path, tmp_path: Path) -> None:
    make_links(root)
    (tmp_path / "link").symlink_to(root)
    assert read_resource(tmp_path / "link", "docs/guide.md").text == "Guide"
    assert read_resource(tmp_path / "link", "inside-absolute/guide.md").text == "Guide"
    assert FilePathResolver.resolve_path(tmp_path / "link", "docs/guide.md") == root / "docs" / "guide.md"


@pytest.mark.parametrize(
    ("path", "resolved"),
    [
        ("reference.md", "reference.md"),
        ("scripts/extract.py", "scripts/extract.py"),
        ("docs/../docs/guide.md", "docs/guide.md"),
        ("inside/x/y.md", "docs/x/y.md"),
        ("docs/guide.md/x", "docs/guide.md/x"),
        ("", ""),
        (".", ""),
    ],
)
def test_a_path_is_resolved_whether_or_not_the_file_exists(root: Path, path: str, resolved: str) -> None:
    make_links(root)
    assert FilePathResolver.resolve_path(root, path) == root / resolved


def test_a_path_beneath_a_folder_that_is_gone_is_still_a_path(tmp_path: Path) -> None:
    assert FilePathResolver.resolve_path(tmp_path / "gone", "a/b") == tmp_path / "gone" / "a" / "b"
    with pytest.raises(ContentLoadError, match="folder is gone"):
        read_resource(tmp_path / "gone", "a")
    with pytest.raises(ContentLoadError, match="folder is gone"):
        list_resources(tmp_path / "gone", "SKILL.md")


@pytest.mark.parametrize(
    "path", ["missing.txt", "docs/missing", "docs/guide.md/x", "nowhere", "", "x" * 5000]
)
def test_a_file_that_is_not_there_is_a_load_error(root: Path, path: str) -> None:
    make_links(root)
    with pytest.raises(ContentLoadError) as caught:
        read_resource(root, path)
    assert path[:100] in str(caught.value), "the message names the file"


def test_a_folder_or_a_fifo_is_not_a_file_and_never_blocks(root: Path) -> None:
    os.mkfifo(root / "fifo")
    for path in ("docs", "fifo"):
        with pytest.raises(ContentLoadError, match="Not a regular file"):
            read_resource(root, path)


def test_a_path_is_text(root: Path) -> None:
    with pytest.raises(PathSecurityError, match="not text"):
        read_resource(root, 7)


def test_a_file_swapped_for_a_fifo_while_it_is_opened_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def swapping(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "guide.md":
            (root / "docs" / "guide.md").unlink()
            os.mkfifo(root / "docs" / "guide.md")
        return real_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(ContentLoadError, match="Not a regular file"):
        read_resource(root, "docs/guide.md")


COMPONENTS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "docs",
        "deep",
        "guide.md",
        "inside",
        "out-folder",
        "root",
        "secret.txt",
        "sibling",
        "data.csv",
        "out.txt",
        "inside-absolute",
        "up.md",
        "out-twice",
        "skill",
        "etc",
        "passwd",
        "loop",
        "nowhere",
    ]
)


@settings(max_examples=3 * settings.default.max_examples, deadline=None)
@given(st.one_of(st.lists(COMPONENTS, max_size=7).map("/".join), st.text(max_size=15)))
def test_no_path_ever_leaves_the_root(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    base = tmp_path_factory.getbasetemp() / "property" / "skill"
    if not base.exists():
        (base / "docs" / "deep").mkdir(parents=True)
        (base / "docs" / "guide.md").write_text("Guide")
        (base.parent / "sibling").mkdir()
        (base.parent / "sibling" / "data.csv").write_text("SECRET")
        (base.parent / "secret.txt").write_text("SECRET")
        make_links(base)
    try:
        page = read_resource(base, path)
    except (PathSecurityError, ContentLoadError):
        pass
    else:
        assert page.text == "Guide"
    try:
        resolved = FilePathResolver.resolve_path(base, path)
    except PathSecurityError:
        return
    assert resolved.resolve().is_relative_to(base.resolve())


def test_a_descriptor_is_closed_when_the_block_ends(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for _ in range(50):
        with open_beneath(root, "docs/guide.md") as descriptor:
            os.fstat(descriptor)
        with pytest.raises(PathSecurityError):
            read_resource(root, "../x")
        with pytest.raises(ContentLoadError):
            read_resource(root, "docs")
        list_resources(root, "SKILL.md")
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert after == before


@pytest.mark.parametrize(("count", "followed"), [(15, True), (16, False)])
def test_links_are_followed_sixteen_steps_far(root: Path, count: int, followed: bool) -> None:
    (root / "end.md").write_text("end")
    before = "end.md"
    for number in range(count):
        (root / f"link{number}").symlink_to(before)
        before = f"link{number}"
    if followed:
        assert read_resource(root, before).text == "end"
    else:
        with pytest.raises(PathSecurityError, match="too many symbolic links"):
            read_resource(root, before)


def test_a_long_path_makes_no_long_message(root: Path) -> None:
    for path in ("../" + "a" * 1_000_000, "a" * 1_000_000):
        with pytest.raises((PathSecurityError, ContentLoadError)) as refused:
            read_resource(root, path)
        assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("name", ["a.", "a ", "x::$DATA", "C:evil", "f:ads", "con", "AUX.md", "refs/a. "])
def test_names_that_are_others_elsewhere_are_neither_read_nor_listed(root: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("x")
    with pytest.raises(PathSecurityError):
        read_resource(root, name)
    assert name not in [resource.path for resource in list_resources(root, "SKILL.md")]


def test_a_refusal_is_logged_with_where_the_path_leads(root: Path, caplog) -> None:
    with pytest.raises(PathSecurityError):
        read_resource(root, "../secret")
    [record] = [record for record in caplog.records if hasattr(record, "violation_type")]
    assert record.resolved_path == str(root.parent / "secret")


def test_reading_a_hard_link_says_so(root: Path, tmp_path: Path, caplog) -> None:
    (tmp_path / "outside.md").write_text("shared")
    os.link(tmp_path / "outside.md", root / "inside.md")
    assert read_resource(root, "inside.md").text == "shared"
    assert "hard link" in caplog.text


def test_a_long_name_makes_no_long_message(root: Path) -> None:
    manager = SkillManager(root)
    manager.discover()
    for name in ("a" * 1_000_000, "a" * 1_000_000 + ":b", "project:" + "a" * 1_000_000):
        with pytest.raises(SkillsUseError) as raised:
            manager.get_skill(name)
        assert len(str(raised.value)) < 2000
    with pytest.raises(SkillsUseError) as raised:
        SkillManager("/" + "a" * 1_000_000)
    assert len(str(raised.value)) < 2000


def test_what_lies_on_another_mount_is_not_listed(tmp_path, monkeypatch):
    for name in ("own.md", "mounted/secret.md", "mounted.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.setattr(resources, "mounts_beneath", lambda base: frozenset({b"mounted", b"mounted.md"}))
    assert [found.path for found in list_resources(tmp_path, "SKILL.md")] == ["own.md"]


@pytest.mark.parametrize("path", ["mounted/x", "./mounted/x", "a/../mounted/x", ".//mounted"])
def test_a_mount_is_known_however_the_path_is_spelled(tmp_path, path):
    (tmp_path / "x").write_text("x")
    status = (tmp_path / "x").stat()
    assert is_shared(tmp_path, path, status, frozenset({b"mounted"}))
    assert not is_shared(tmp_path, path, status, frozenset({b"mount", b"other/mounted"}))


def test_a_path_is_refused_for_its_length_before_anything_else(tmp_path):
    """`./` 16,000 times took 2.4 s, and 400,000 times no end."""
    (tmp_path / "x").write_text("x")
    with pytest.raises(ContentLoadError, match="longer than"):
        read_resource(tmp_path, "./" * 400_000 + "x")
