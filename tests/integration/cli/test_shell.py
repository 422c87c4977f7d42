"""The program in a shell: completion, colours, terminals that cannot draw, and the manual page."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Say
from skill_repositories import skill_text
from terminal import Terminal

from skillkit.install.added_sources import AddedSource, AddedSources


def completed(start_agent, line: str) -> list[str]:
    """What bash would offer at the end of `line`."""
    words = line.split()
    count = len(words) if line.endswith(" ") else len(words) - 1
    done = start_agent(_AGENT_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(count))
    return done.stdout.split()


def test_a_shell_completes_skills_scripts_and_sources(start_agent, own_home: Path, tmp_path: Path) -> None:
    assert completed(start_agent, "agent skill info hello") == ["hello-extended"]
    assert completed(start_agent, "agent skill run hello-extended adv") == ["advanced_greeting"]
    folder = tmp_path / "skills" / "talker"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text("talker"))
    (folder / "scripts" / "talk.sh").write_text("echo hello\n")
    assert completed(start_agent, "agent skill run ./skills/talker ") == ["talk"]
    assert completed(start_agent, "agent skill run nothing ") == []
    AddedSources(own_home / ".agent").add(AddedSource("office", "https://skills.example.com/mcp"))
    assert completed(start_agent, "agent skill source remove ") == ["office"]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_there_are_no_colours_where_nobody_wants_them(
    environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    given = () if environment else ("--no-color",)
    shell = f"{os.environ.get('TERM', '')}" if "TERM" in environment else "xterm-256color"
    shown = start_with(shell, *given, "skill", "info", "nope")
    assert shown.end() == 1
    assert "Error: " in shown.text
    assert re.findall(r"\x1b\[[0-9;]*3[0-9][0-9;]*m", shown.raw) == []
    coloured = start_with("xterm-256color", "skill", "info", "nope")
    coloured.end()
    assert ("\x1b[1;31m" in coloured.raw) is ("NO_COLOR" not in environment)


def start_with(term: str, *arguments: str):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return Terminal(*arguments, cwd=Path.cwd(), environment={**environment, "TERM": term})


@pytest.mark.slow
def test_a_dumb_terminal_gets_lines_and_no_movements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with OpenAIServer() as server:
        server.replies = [Say("The **answer** is four.")]
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1234")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        answered = start_with("dumb", "-p", "What is 2+2?")
        assert answered.end() == 0
        assert "is four." in answered.text
        assert "\x1b" not in answered.raw


def test_the_manual_page_has_every_command_and_is_well_formed(run_agent) -> None:
    page = run_agent("man").stdout
    assert page.startswith(".TH AGENT 1 ")
    for command in ("agent skill add", "agent uninstall", "agent config set"):
        assert f".SS {command} " in page
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"}
    if groff := shutil.which("groff"):
        made = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True, check=False
        )
        assert (made.returncode, made.stderr) == (0, "")
