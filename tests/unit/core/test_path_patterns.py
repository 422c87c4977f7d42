"""The `paths` of a header: which files of a project they mean, and that no pattern takes long to try."""

import os
import sys
from pathlib import Path
from types import FrameType

import pytest

from skillkit.core import path_patterns
from skillkit.core.path_patterns import MAX_PATTERNS, expand_braces, matches_any, relative_name


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.md", "README.md", True),
        ("*.md", "docs/README.md", False),
        ("**/*.ts", "app.ts", True),
        ("**/*.ts", "a/b/app.ts", True),
        ("src/**/*.{ts,tsx}", "src/app.tsx", True),
        ("src/**/*.{ts,tsx}", "src/a/app.js", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("src/", "src/a/b", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("{a,{b,c}}.x", "c.x", True),
        ("a{b}c", "a{b}c", True),
        ("a[0-9]b", "a5b", True),
        ("a[!0-9]b", "a5b", False),
        (r"\[id\].tsx", "[id].tsx", True),
        ("[broken", "[broken", False),
        ("./Makefile", "Makefile", True),
        ("file?.txt", "file1.txt", True),
        ("*a*b*c", "xaxbxc", True),
        ("*a*b*c", "xaxbx", False),
    ],
)
def test_patterns_mean_what_claude_code_says(pattern: str, path: str, fits: bool) -> None:
    assert matches_any((pattern,), path) is fits


def test_a_name_without_its_folder_fits_where_folders_may_be_missing() -> None:
    assert matches_any(("src/**/*.ts",), "app.ts", partial=True)
    assert not matches_any(("src/**/*.ts",), "app.js", partial=True)


def test_braces_beyond_the_limit_stand_for_themselves() -> None:
    endless = "{a,b}" * 40
    assert expand_braces([endless]) == [endless]
    assert len(expand_braces(["{a,b}{c,d}"] * MAX_PATTERNS)) == MAX_PATTERNS


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*a" * 500, "a" * 4000 + "b"), ("**/x/" * 400, "x/" * 4000), ("[a-z]*" * 300, "a" * 4000 + "1")],
)
def test_patterns_of_a_stranger_are_answered(pattern: str, path: str) -> None:
    """A pattern that goes back would not come to an end here."""
    assert matches_any((pattern,), path) in (True, False)


def test_the_work_is_the_parts_of_the_pattern_times_those_of_the_path() -> None:
    counted = 0

    def count(frame: FrameType, event: str, _: object) -> object:
        nonlocal counted
        counted += event == "line" and frame.f_globals["__name__"] == path_patterns.__name__
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        matches_any(("**/*/" * 80,), "a/" * 40, partial=True)
    finally:
        sys.settrace(before)
    assert counted < 2 * 160 * 40


def test_names_are_seen_from_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.ts").touch()
    monkeypatch.chdir(tmp_path / "src")
    assert relative_name("app.ts", tmp_path) == "src/app.ts"
    assert relative_name("docs/new.md", tmp_path) == "docs/new.md"
    assert relative_name(os.fspath(tmp_path / "src" / "app.ts"), tmp_path) == "src/app.ts"
    assert relative_name("../../outside", tmp_path) is None
    assert relative_name("/etc/passwd", tmp_path) is None
