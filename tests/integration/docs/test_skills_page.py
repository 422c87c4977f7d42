"""The guide for authors is complete and says what is so."""

import re
from pathlib import Path

import typer

from skillkit import SkillManager
from skillkit.agent.cli.skill import app
from skillkit.core.exceptions import SkillParsingError
from skillkit.core.fields import FIELDS
from skillkit.core.parser import SkillParser

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "SKILLS.md").read_text()


def section(title: str) -> str:
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_manifest_reference_has_every_field():
    first_cells = "".join(
        line.split("|")[1]
        for line in section("The header, field by field").splitlines()
        if line.startswith("|")
    )
    assert set(re.findall(r"`([^`]+)`", first_cells)) == set(FIELDS)


def test_the_table_of_names_is_true(tmp_path):
    rows = [line.split("|")[1:3] for line in section("Names").splitlines() if line.startswith("| `")]
    outcomes = {}
    for names, outcome in rows:
        for name in re.findall(r"`([^`]+)`", names):
            folder = tmp_path / str(len(outcomes))
            folder.mkdir()
            (folder / "SKILL.md").touch()
            text = f"---\nname: {name}\ndescription: d\n---\n".encode()
            outcomes[name] = outcome.strip()
            try:
                found = SkillParser().parse(text, folder / "SKILL.md")
            except SkillParsingError:
                assert outcomes[name] == "refused", name
                continue
            odd = "name-format" in [diagnostic.code for diagnostic in found.diagnostics]
            assert odd == (outcomes[name] != "fine"), name
    assert {"my-skill-123", "My_Skill_123", "skill name with spaces", "~", "__pycache__"} <= outcomes.keys()


def test_the_numbers_of_the_walkthrough_are_those_of_the_skill():
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    manager.discover()
    scripts = list((manager.get_skill("kalshi-markets").base_dir / "scripts").glob("*.py"))
    assert sorted(
        re.findall(r"(\w+)\.py", section("A real one: kalshi-markets").partition("```\n\n")[0])
    ) == sorted(script.stem for script in scripts)
    lines = sum(len(script.read_text().splitlines()) for script in scripts)
    assert round(lines, -3) == 2000


def test_the_guide_shows_help_and_run_in_use_and_how_names_collide():
    executed = "".join(re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL))
    assert re.search(r"\.script_help\(\"hello-extended\"", executed)
    assert re.search(r"\.script_run\(\s*\"hello-extended\"", executed)
    assert "Tool name collision: 'search' from a.X.search conflicts with b.Y.search (using first)" in GUIDE
    assert "`kalshi_search`" in GUIDE, "what to call it instead"
    assert "`SKILL_AUTO_PREFIX=true`" in GUIDE


def test_the_commands_that_authors_are_told_of_exist():
    author = (ROOT / "src/skillkit/bundled/skill-author/SKILL.md").read_text()
    told = set(re.findall(r"agent skill ([a-z]+)", GUIDE + author))
    assert told - set(typer.main.get_group(app).list_commands(None)) == set()
    assert {"create", "validate", "match", "test", "cost", "run"} <= told
