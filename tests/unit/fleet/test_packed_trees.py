"""Trees as bytes: they arrive as they were, and nothing else is ever written."""

import io
import os
import tarfile

import pytest

from skillkit.core.digest_memo import DigestMemo
from skillkit.fleet import packing
from skillkit.fleet.packing import PackedTreeError, pack_tree, unpack_tree


@pytest.fixture
def tree(tmp_path):
    base = tmp_path / "demo"
    (base / "scripts" / "deep" / "er").mkdir(parents=True)
    (base / "SKILL.md").write_text("# demo")
    (base / "scripts" / "run.sh").write_text("echo")
    (base / "scripts" / "run.sh").chmod(0o755)
    (base / "scripts" / "deep" / "er" / "ü.bin").write_bytes(bytes(range(256)))
    return base


@pytest.mark.parametrize("links", [False, True])
def test_a_tree_has_the_same_digest_after_its_journey(tree, tmp_path, links):
    if links:
        (tree / "absolute").symlink_to("/etc/passwd")
        (tree / "scripts" / "up").symlink_to("../..")
    unpack_tree(pack_tree(tree), tmp_path / "there")
    assert DigestMemo().with_links(tmp_path / "there").digest == DigestMemo().with_links(tree).digest


def test_equal_trees_are_packed_to_equal_bytes(tree):
    first = pack_tree(tree)
    os.utime(tree / "SKILL.md", (1, 1))
    assert pack_tree(tree) == first


def archive(*members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as made:
        for name, kind, text in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, text if kind != tarfile.REGTYPE else ""
            member.size = len(text) if kind == tarfile.REGTYPE else 0
            made.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


FILE, LINK = tarfile.REGTYPE, tarfile.SYMTYPE


@pytest.mark.parametrize(
    "members",
    [
        [("../out", FILE, "x")],
        [("/out", FILE, "x")],
        [("a/../../out", FILE, "x")],
        [("a//out", FILE, "x")],
        [("a", LINK, ".."), ("a/out", FILE, "x")],
        [("a", FILE, "x"), ("a", FILE, "y")],
        [("a", FILE, "x"), ("a/b", FILE, "y")],
        [("a", tarfile.LNKTYPE, "/etc/passwd")],
        [("a", tarfile.CHRTYPE, "")],
        [("a", tarfile.FIFOTYPE, "")],
        [("a", tarfile.DIRTYPE, "")],
    ],
    ids=lambda members: " ".join(f"{name}:{kind.decode()}" for name, kind, _ in members),
)
def test_what_leads_out_of_the_tree_or_is_no_file_is_refused(tmp_path, members):
    with pytest.raises(PackedTreeError):
        unpack_tree(archive(*members), tmp_path / "there")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("data", [b"", b"no tar at all" * 100, b"\x1f\x8b\x08\x00" + bytes(600)])
def test_other_bytes_are_refused_or_an_empty_tree(tmp_path, data):
    try:
        unpack_tree(data, tmp_path / "there")
    except PackedTreeError:
        return
    assert list((tmp_path / "there").iterdir()) == []


def test_more_than_a_tree_may_hold_is_refused(tmp_path, monkeypatch, tree):
    packed = pack_tree(tree)
    monkeypatch.setattr(packing, "TREE_BYTES", 100)
    with pytest.raises(PackedTreeError, match="bytes"):
        unpack_tree(packed, tmp_path / "there")
    with pytest.raises(PackedTreeError, match="bytes"):
        pack_tree(tree)
    monkeypatch.setattr(packing, "TREE_BYTES", 1 << 20)
    monkeypatch.setattr(packing, "TREE_FILES", 2)
    with pytest.raises(PackedTreeError, match="files"):
        unpack_tree(packed, tmp_path / "there2")
