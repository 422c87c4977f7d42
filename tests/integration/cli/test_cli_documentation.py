"""Every console session of the documentation goes as it is written; those with a model have other tests."""

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
from terminal import Terminal

ROOT = Path(__file__).parents[3]
SESSION = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXIT_CODE = re.compile(r"\[exit code (\d+)\]")
ASKED = "[y/N] y"
NEEDS_A_MODEL = re.compile(r"^\$ (?:agent .*-p |python examples/|agent serve)", re.MULTILINE)


def pages_with_sessions() -> list[str]:
    pages = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "docs").rglob("*.md")}
    return sorted(name for name, text in pages.items() if "\n$ " in text and not NEEDS_A_MODEL.search(text))


def commands(page: Path) -> list[tuple[str, str]]:
    """Each command of a page with the output it should have."""
    text = "".join(SESSION.findall(page.read_text()))
    parts = re.split(r"^\$ (.+<<'END'\n(?:.*\n)*?END|.+)$", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project beside a git server, in which the examples of skillkit lie."""
    repository = Repository(tmp_path / "srv" / "git" / "team-skills.git")
    repository.commit(
        {
            "skills/pdf-forms/SKILL.md": skill_text("pdf-forms"),
            "skills/pdf-forms/scripts/fill.py": "print('filled')\n",
            "skills/invoices/SKILL.md": skill_text("invoices"),
        }
    )
    shutil.copytree(ROOT / "examples", tmp_path / "project" / "examples")
    return tmp_path / "project"


def run(command: str, project: Path, *, answer: bool) -> tuple[int, str]:
    """The exit code and the output of a shell's line; `answer` says yes to its question."""
    root = project.parent
    programs = root / "bin"
    if not programs.exists():
        programs.mkdir()
        program = f"{shlex.quote(sys.executable)} -c 'from skillkit.agent.cli import main; main()'"
        (programs / "agent").write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        (programs / "agent").chmod(0o755)
    environment = clean_environment(root / "home", PATH=f"{programs}:{os.environ['PATH']}")
    line = command.replace("/srv/git/", f"{root}/srv/git/")
    if answer:
        terminal = Terminal(shell=line, cwd=project, environment=environment | {"TERM": "dumb"})
        code = terminal.expect("[y/N]").type("y").end()
        return code, terminal.text
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", pages_with_sessions())
def test_the_sessions_of_a_page_go_as_they_are_written(name: str, project: Path) -> None:
    for command, expected in commands(ROOT / name):
        code, output = run(command, project, answer=ASKED in expected)
        lines = output.replace(str(project.parent), "").splitlines()
        shown = "\n".join(line for line in lines if not line.endswith(" …"))  # progress
        wanted_code = EXIT_CODE.search(expected)
        assert code == (int(wanted_code[1]) if wanted_code else 0), f"{command}\n{shown}"
        wanted = EXIT_CODE.sub("", expected)
        assert matches(wanted, shown), f"{command}\nexpected:\n{wanted}\nshown:\n{shown}"


def test_the_session_of_the_readme_goes_as_it_is_written(project: Path) -> None:
    """Its repository is a local one here, so commits and digests differ."""
    repository = Repository(project.parent / "repo")
    skill = project / "examples" / "skills" / "csv-report"
    files = {f"skills/csv-report/{path.relative_to(skill)}": path.read_text() for path in skill.rglob("*.md")}
    repository.commit(files, ref="refs/tags/v1.2.0")
    for command, expected in commands(ROOT / "README.md"):
        typed = command.replace(
            "owner/repo/skills/csv-report@v1.2.0", f"{repository.url} --skill csv-report --ref v1.2.0"
        )
        code, output = run(typed, project, answer=ASKED in expected)
        lines = output.replace(repository.url, "https://github.com/owner/repo").splitlines()
        shown = "\n".join(line for line in lines if not line.endswith(" …")).replace(
            str(project.parent / "home"), "~"
        )
        assert code == 0
        assert matches(re.sub(r"[0-9a-f]{8,}", "…", expected), shown), f"{command}\n{shown}"


def test_every_page_with_a_session_has_a_test() -> None:
    assert {"docs/install.md", "docs/cli.md"} <= set(pages_with_sessions())
