"""Which Python a skill's header asks for, and whether this machine has it."""

import os
import platform
import sys
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core import pythons
from skillkit.core.pythons import header_clauses, satisfies


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("3.11", ">=3.11"),
        (">= 3.10, <4", ">=3.10,<4"),
        ("==3.11", "==3.11.*"),
        ("<=3.12", "<3.13"),
        ("<=3.12.1", "<=3.12.1"),
        ("==3.11.2", "==3.11.2"),
        ("~=3.11", "~=3.11"),
        ("^3.10", ""),
        ("any python 3", ""),
        (">=" + "9" * 5000, ""),
    ],
)
def test_what_a_header_says_of_python_is_read_as_it_is_meant(text, clauses):
    assert header_clauses(text) == clauses
    assert satisfies("3.11.7", clauses) is (clauses != "==3.11.2")


@pytest.fixture
def other_python(tmp_path, monkeypatch):
    """An interpreter of a version manager that says it is Python 3.18."""
    program = tmp_path / ".pyenv" / "versions" / "3.18.0" / "bin" / "python3.18"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 3.18.0 linux-x86_64 {tmp_path}\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    pythons._others.cache_clear()
    yield program
    pythons._others.cache_clear()


@pytest.mark.parametrize(
    ("wanted", "more", "usable"),
    [
        (platform.python_version(), "", True),
        ("==3.18.0", "", True),
        ("3.18", "", True),
        ("==3.18.0", "toolsets: ['tools.x:X']\n", False),  # which run in our own
        (">=3.19", "", False),
    ],
)
def test_a_skill_is_there_for_any_python_of_this_machine(tmp_path: Path, other_python, wanted, more, usable):
    skill = tmp_path / "skills" / "demo" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: demo\ndescription: D\nrequires:\n  python: '{wanted}'\n{more}---\n")
    manager = SkillManager(project_skill_dir=tmp_path / "skills")
    manager.discover()
    refused = manager.refusal(manager.get_skill("demo"))
    assert (refused is None) is usable, refused
    assert usable or f"needs Python {wanted}; this is {platform.python_version()}" in refused.reason


def test_no_program_of_a_skill_runs_while_interpreters_are_probed(tmp_path, monkeypatch):
    skill, mark, shims = tmp_path / "skill" / "bin", tmp_path / "ran", tmp_path / "shims"
    for folder in (skill, shims):
        folder.mkdir(parents=True)
    (skill.parent / "SKILL.md").write_text("---\nname: evil\n---\n")
    (skill / "bash").write_text(f"#!/bin/sh\ntouch {mark}\n")
    shim = shims / "python3.11"
    shim.write_text(f'#!/usr/bin/env bash\nexec {sys.executable} "$@"\n')
    for program in (skill / "bash", shim):
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{skill}{os.pathsep}{os.environ['PATH']}")
    assert pythons._describe(str(shim)) is not None
    assert not mark.exists()
