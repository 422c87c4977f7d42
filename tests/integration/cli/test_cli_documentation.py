"""The console examples of the pages about installing and the command line are executed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import clean_environment
from recipes.reference import BEGIN, brought_up_to_date
from recipes.reference import commands as commands_of_the_program
from skill_repositories import Repository, skill_text

ROOT = Path(__file__).parents[3]
SESSION = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXIT_CODE = re.compile(r"\[exit code (\d+)\]")


def commands(page: Path) -> list[tuple[str, str]]:
    """Each command of a page with the output it should have."""
    text = "".join(SESSION.findall(page.read_text()))
    parts = re.split(r"^\$ (.+)$", text, flags=re.MULTILINE)[1:]
    return [(parts[number], parts[number + 1]) for number in range(0, len(parts), 2)]


def matches(expected: str, shown: str) -> bool:
    """Whether `shown` is what the page says; `…` stands for anything, white space for nothing."""
    parts = "".join(expected.split()).split("…")
    return re.fullmatch(".*".join(map(re.escape, parts)), "".join(shown.split())) is not None


def test_the_list_of_commands_is_current() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    assert brought_up_to_date(page) == page, "python3 dev.py reference writes it anew"


def test_the_list_of_commands_has_the_families_and_their_members() -> None:
    paths = [" ".join(path) for path in commands_of_the_program()]
    assert {"agent", "agent skill", "agent skill match", "agent model install", "agent serve"} <= set(paths)
    listed = brought_up_to_date(BEGIN)
    assert [path for path in paths if f"### {path}\n" not in listed] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["install.md", "cli.md"])
def test_the_sessions_of_a_page_go_as_they_are_written(name: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "srv" / "git" / "team-skills.git")
    repository.commit(
        {
            "skills/pdf-forms/SKILL.md": skill_text("pdf-forms"),
            "skills/pdf-forms/scripts/fill.py": "print('filled')\n",
            "skills/invoices/SKILL.md": skill_text("invoices"),
        }
    )
    project = tmp_path / "project"
    project.mkdir()
    shutil.copytree(ROOT / "examples", project / "examples")
    programs = tmp_path / "bin"
    programs.mkdir()
    program = f"{shlex.quote(sys.executable)} -c 'from skillkit.agent.cli import main; main()'"
    (programs / "agent").write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    (programs / "agent").chmod(0o755)
    environment = clean_environment(tmp_path / "home", PATH=f"{programs}:{os.environ['PATH']}")
    listed = commands(ROOT / "docs" / name)
    assert len(listed) >= 8
    for command, expected in listed:
        done = subprocess.run(
            ["sh", "-c", command.replace("/srv/git/", f"{tmp_path}/srv/git/")],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        code = EXIT_CODE.search(expected)
        lines = done.stdout.replace(str(tmp_path), "").splitlines()
        shown = "\n".join(line for line in lines if not line.endswith(" …"))  # progress
        assert done.returncode == (int(code[1]) if code else 0), f"{command}\n{shown}"
        wanted = EXIT_CODE.sub("", expected)
        assert matches(wanted, shown), f"{command}\nexpected:\n{wanted}\nshown:\n{shown}"
