"""A Python package that ships skills: a source for whoever asks for it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, sys
from skillkit import SkillManager
manager = SkillManager("", anthropic_config_dir="", default_sources=False, packages={packages})
manager.discover()
print(json.dumps({{
    "skills": [skill.qualified_name for skill in manager.list_skills()],
    "said": [(said.code, said.message) for said in manager.diagnostics],
    "imported": "shipped_skills" in sys.modules,
    "text": manager.invoke_skill("polish") if manager.list_skills() else "",
}}))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A distribution as pip leaves it: the module, its skills, its metadata."""
    site = tmp_path / "site"
    for module in ("shipped_skills", "other_package"):
        folder = site / module / ".agents" / "skills" / "polish"
        folder.mkdir(parents=True)
        (site / module / "__init__.py").write_text("raise SystemExit('imported')\n")
        (folder / "SKILL.md").write_text(f"---\nname: polish\ndescription: Polish.\n---\nBy {module}.\n")
    information = site / "shipped_skills-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: shipped-skills\nVersion: 1.0\n")
    return site


def found(package: Path, packages: str) -> dict[str, object]:
    program = f"import sys; sys.path.insert(0, {str(package)!r})\n" + PROGRAM.format(packages=packages)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=package
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_nothing_is_taken_from_packages_without_being_asked(package: Path):
    assert found(package, "False")["skills"] == []


def test_the_skills_of_a_named_package_are_a_source_and_its_code_is_not_run(package: Path):
    result = found(package, "['shipped_skills']")
    assert result["skills"] == ["package-shipped_skills:polish"]
    assert result["imported"] is False
    assert "By shipped_skills." in str(result["text"])


def test_all_packages_can_be_asked_and_none_takes_the_place_of_another(package: Path):
    skills = found(package, "True")["skills"]
    assert isinstance(skills, list)
    assert "package-other_package:polish" in skills
    assert "package-shipped_skills:polish" not in skills  # the name is taken, it answers to its full one


def test_a_package_that_ships_none_is_said(package: Path):
    assert found(package, "['shipped_skills']")["said"] == []
    for name, hint in {
        "nosuch": "as they are imported",
        "shipped-skills": "imported as 'shipped_skills'",
    }.items():
        ((code, message),) = found(package, f"[{name!r}]")["said"]  # type: ignore[misc]
        assert (code, name in message, hint in message) == ("package-without-skills", True, True)
