"""`agent skill source`: packages and MCP servers as places that skills come from."""

import json
import shlex
import sys
from pathlib import Path

import pytest

SKILL = "---\nname: {name}\ndescription: Counts words. Use when asked to count words.\n---\nCount them.\n"


@pytest.fixture
def package(tmp_path: Path) -> str:
    """A folder for PYTHONPATH with a package that ships a skill."""
    folder = tmp_path / "site" / "word_tools"
    (folder / ".agents" / "skills" / "word-count").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('nobody imports me')\n")
    (folder / ".agents" / "skills" / "word-count" / "SKILL.md").write_text(SKILL.format(name="word-count"))
    return str(folder.parent)


def test_a_package_is_a_source_of_the_program(
    run_agent, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(package)

    def agent(*arguments: str, **environment: str) -> str:
        done = run_agent(*arguments, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "word-count" not in agent("skill", "list")
    assert "1 skill" in agent("skill", "source", "add", "word_tools")
    [listed] = json.loads(agent("skill", "source", "list", "--json"))
    assert (listed["name"], listed["skills"]) == ("word_tools", ["word-count"])
    checked = agent("--check", AGENT_SKILLS="all")
    assert "✗ word-count (untrusted)" in checked
    [word_count] = [
        skill
        for skill in json.loads(agent("skill", "list", "--json"))["skills"]
        if skill["name"] == "word-count"
    ]
    agent("skill", "trust", "word-count", "--yes", "--digest", word_count["digest"])
    assert "✓ word-count (active)" in agent("--check", AGENT_SKILLS="all")
    assert "Removed" in agent("skill", "source", "remove", "word_tools")
    assert "word-count" not in agent("skill", "list")


def test_a_package_without_skills_is_an_error(run_agent) -> None:
    done = run_agent("skill", "source", "add", "json")
    assert done.returncode == 1
    assert "ships skills in .agents/skills" in done.stderr
    assert run_agent("skill", "source", "remove", "json").returncode == 1


SERVE = """\
import asyncio, sys
from skillkit import SkillManager
from skillkit.integrations.mcp import SkillServer
manager = SkillManager(project_skill_dir=sys.argv[1])
asyncio.run(SkillServer(manager).run_stdio())
"""


@pytest.mark.slow
def test_an_mcp_server_is_a_source_of_the_program(start_agent, write_skill, tmp_path: Path) -> None:
    served = tmp_path / "served"
    write_skill("office-letter", description="Writes letters. Use when asked for one.", into=served)
    server = tmp_path / "server.py"
    server.write_text(SERVE)
    command = shlex.join([sys.executable, str(server), str(served)])

    refused = start_agent("skill", "source", "add", "office", "--command", command)
    assert "sha256:" in refused.stderr, "what would be fetched is shown"
    assert "office-letter (not fetched)" in refused.stdout
    assert "--yes" in refused.stderr
    assert "skill trust" not in refused.stderr
    [listed] = json.loads(start_agent("skill", "source", "list", "--json").stdout)
    assert listed["skills"] == ["office-letter"], "announced, and not more"
    assert "consent is needed" in _text(start_agent, "office-letter")
    trusted = start_agent("skill", "trust", "office-letter", "--yes")
    assert trusted.returncode == 4
    assert "is announced by the MCP server 'office' but not fetched" in " ".join(trusted.stderr.split())

    assert start_agent("skill", "source", "add", "office", "--command", command, "--yes").returncode == 0
    assert "consent is needed" not in _text(start_agent, "office-letter")
    assert "✗ office-letter (untrusted)" in start_agent("--check", AGENT_SKILLS="all").stdout
    fetched = json.loads(start_agent("skill", "info", "office-letter", "--json").stdout)
    trusted = start_agent("skill", "trust", "office-letter", "--yes", "--digest", fetched["digest"])
    assert trusted.stdout == "office-letter is trusted\n", trusted.stderr
    assert start_agent("skill", "source", "remove", "office").returncode == 0
    assert "office-letter" not in start_agent("skill", "list").stdout


def _text(start_agent, name: str) -> str:
    info = json.loads(start_agent("skill", "info", name, "--json").stdout)
    return (Path(info["path"]) / "SKILL.md").read_text()
