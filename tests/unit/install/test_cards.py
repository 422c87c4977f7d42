"""Capability cards and differences are facts, bounded and safe to show."""

from pathlib import Path

import pytest

from skillkit.core.models import Permissions, SkillMetadata
from skillkit.install.capabilities import Capabilities, capabilities, inline_dependencies
from skillkit.install.changes import MAX_LINES, diff_lines
from skillkit.install.tree import SkillTree, TreeFile


def card(files: dict[str, bytes | TreeFile], **fields: object) -> Capabilities:
    tree = SkillTree(
        {
            path: content if isinstance(content, TreeFile) else TreeFile(content)
            for path, content in {"SKILL.md": b"", **files}.items()
        }
    )
    metadata = SkillMetadata(name="x", description="d", skill_path=Path(__file__), **fields)
    return capabilities(tree, metadata)


def test_what_can_be_run_is_named_with_its_interpreter() -> None:
    found = card(
        {
            "a.py": b"print(1)",
            "b": b"#!/usr/bin/env -S node --x\n",
            "c": b"#! /bin/bash\n",
            "d": TreeFile(b"text", executable=True),
            "e.exe": b"MZ\x90",
            "notes.md": b"nothing",
        }
    )
    assert found.scripts == (
        "a.py (python)",
        "b (node)",
        "c (bash)",
        "d (executable)",
        "e.exe (native program)",
    )


def test_asked_for_and_named_things_are_listed() -> None:
    found = card(
        {
            "a.md": b"see https://API.example.com/v1 and wss://user@stream.example.org:80.",
            "inner/SKILL.md": b"x",
            "requirements.txt": b"httpx",
            "zero.md": "a\u200bb\u202e".encode(),
            "pic.png": b"\x89PNG\xff",
            "null.bin": b"a\0b",
        },
        permissions=Permissions(env=("TOKEN",), network=True),
        toolsets=("tools.x:Y",),
        allowed_tools=("Bash",),
        required_commands=("git",),
        recovered=True,
    )
    assert found.hosts == ("api.example.com", "stream.example.org")
    assert found.nested_skills == ("inner/SKILL.md",)
    assert found.dependencies == ("requirements.txt",)
    assert found.hidden_characters == ("zero.md (2)",)
    assert found.binaries == ("null.bin", "pic.png")
    assert (found.environment, found.network) == (("TOKEN",), ("asked for",))
    assert (found.toolsets, found.allowed_tools, found.commands) == (("tools.x:Y",), ("Bash",), ("git",))
    assert found.header
    assert found.to_data()["hosts"] == ["api.example.com", "stream.example.org"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# /// script\n# dependencies = ['a', \"b[x]>=1\"]\n# ///\n", ["a", "b[x]>=1"]),
        ("# /// script\n# dependencies = [\n#   'a',\n#   'b',\n# ]\n# x = ['c']\n# ///\n", ["a", "b"]),
        ("# dependencies = ['a']\n", []),
        ("# /// script\n# requires-python = '>=3.11'\n# ///\nx = ['a']\n", []),
        ("# /// script\nprint(1)\n# dependencies = ['a']\n", []),
    ],
)
def test_inline_dependencies_are_read_line_by_line(text: str, expected: list[str]) -> None:
    assert inline_dependencies(text.encode()) == expected


def test_a_difference_is_escaped_bounded_and_says_what_it_leaves_out() -> None:
    before = {"a": b"1\n2\n", "gone": b"x", "bin": b"\xff", "same": b"s"}
    after = {"a": b"1\n\x1b[31m3\n", "new": b"y", "bin": b"\xfe\xff", "same": b"s"}
    lines = list(diff_lines(before, after))
    assert "+\\x1b[31m3" in lines
    assert "--- nothing" in lines
    assert "+++ nothing" in lines
    assert "bin: binary or very long, 1 → 2 bytes" in lines
    assert not any("same" in line for line in lines)
    many = {f"f{number:03}": b"x\n" * 100 for number in range(50)}
    shown = list(diff_lines({}, many))
    assert len(shown) < MAX_LINES + 20
    assert shown[-1].startswith("… and ")
    assert any("more lines of f000" in line for line in shown)
    assert (
        len(next(line for line in diff_lines({"a": b""}, {"a": b"x" * 9000}) if line.startswith("+x"))) <= 160
    )
