"""The README keeps its promises to a newcomer: commands that work, numbers that were measured."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from recipes import numbers
from recipes.pictures import charts
from recipes.reference import brought_up_to_date, pages

from skillkit.matching import Mode, SkillMatcher

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()
KALSHI = ROOT / "src" / "skillkit" / "bundled" / "kalshi-markets"
COMMANDS = re.findall(r"^python3 dev.py agent (skill .+)$", README, re.MULTILINE)


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_commands_that_show_and_test_it_come_first():
    assert blocks("sh")[0] == "python3 dev.py agent demo\npython3 dev.py test\n"
    above = README.partition("```sh")[0]
    assert len(above.splitlines()) <= 9
    assert above.split("\n\n")[2].startswith("A skill is a folder")
    assert blocks("sh")[1] == 'AGENT_SKILLS=all python3 dev.py agent -p "Say bonjour to Alice"\n'


def test_the_size_of_the_download_is_read_on_a_phone():
    """In prose, which wraps, and not at the end of a line of code, which is cut off."""
    after = README.partition("Say bonjour to Alice")[2].partition("|")[0]
    assert "download of 1.1 GB" in after
    assert all("GB" not in block for block in blocks("sh"))
    assert all(len(line) <= 100 for line in blocks("sh")[0].splitlines())


def test_the_front_page_says_for_whom_it_is():
    for word in ("pip install", "Linux", "macOS", "Windows", "Beta", "https://agentskills.io/specification"):
        assert word in README.partition("\n## ")[0]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_that_need_no_model_run(line, tmp_path):
    agent = Path(sys.executable).with_name("agent")
    done = subprocess.run(
        [agent, *shlex.split(line)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert ("orderbook" if "kalshi-markets" in line else "my-skill") in done.stdout


def test_the_loop_is_short_and_three_lines_of_it_are_ours():
    lines = [line for line in blocks("python")[0].splitlines() if line]
    assert len(lines) <= 12
    assert sum("skills." in line or "SkillTools(" in line for line in lines) == 3


def test_the_readme_explains_skills_with_kalshi_markets():
    told = section("Skills with scripts")
    [header] = blocks("yaml", told)
    assert header in (KALSHI / "SKILL.md").read_text()
    assert len(list((KALSHI / "scripts").glob("*.py"))) == 10
    assert "the ten scripts" in told
    for word in (
        "script_list",
        "script_help",
        "script_run",
        "permissions:",
        "sandbox",
        "--from kalshi-markets",
    ):
        assert word in told


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_the_numbers_of_a_page_are_those_of_today(path):
    page = path.read_text()
    assert brought_up_to_date(page) == page, "python3 dev.py reference writes them anew"


def test_every_sentence_with_a_number_is_still_there():
    pages = README + (ROOT / "docs" / "SKILLS.md").read_text()
    assert [len(pattern.findall(pages)) for pattern, _ in numbers.sentences()] == [1] * 6


def test_the_figures_of_matching_are_those_of_the_mode_that_is_the_default():
    recorded = charts.recorded("matching-fetched")
    measured = (
        (ROOT / "docs" / "matching-measurements.md").read_text().partition("Version 0.5 on the same")[2]
    )
    ours, before = re.search(
        r"([\d.]+) % get a skill when 10 .*?; with 0\.5 it was ([\d.]+) %", README
    ).groups()
    rows = {row["skills"]: row["foreign that get a skill"] for row in recorded["rows"]}
    assert SkillMatcher().mode is Mode(recorded["mode"])
    assert float(ours) == rows["10"]
    assert f"\n| 10 | {before} (" in measured
