"""Where skills are looked for in a source, and what is said about those that are left out."""

from pathlib import Path

import pytest
from installing import Person
from skill_repositories import Repository, skill_text

from skillkit.install.exceptions import InstallError, NameConflictError
from skillkit.install.installer import SkillInstaller
from skillkit.install.sources.layout import MAX_DEPTH

GROUPED = {
    "skills/cloud/one/SKILL.md": "one",
    "skills/.curated/three/SKILL.md": "three",
    "plugins/p/skills/two/SKILL.md": "two",
    "plugins/group/q/skills/five/SKILL.md": "five",
    "deep/a/b/four/SKILL.md": "four",
    ".claude/skills/six/SKILL.md": "six",
}


def write(root: Path, files: dict[str, str]) -> str:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return str(root)


def made(kind: str, files: dict[str, str], repository: Repository, tmp_path: Path) -> str:
    if kind == "folder":
        return write(tmp_path / "folder", files)
    repository.commit(dict(files))
    return repository.url


@pytest.mark.parametrize("kind", ["git", "folder"])
def test_grouped_and_nested_skills_are_found(
    kind: str, installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    files = {path: skill_text(name) for path, name in GROUPED.items()}
    source = made(kind, files, repository, tmp_path)
    added = installer.add(source, everything=True)
    assert {skill.name for skill in added} == set(GROUPED.values())
    assert added.left_out == ()
    assert installer.add(source, skills=["one"])[0].subpath == "skills/cloud/one"


def test_of_two_versions_the_one_among_the_skills_is_taken(installer: SkillInstaller, tmp_path: Path) -> None:
    """As a public library has them, with `preview` before `skills` in the alphabet."""
    files = {f"{folder}/one/SKILL.md": skill_text("one", folder) for folder in ("preview", "skills")}
    added = installer.add(write(tmp_path / "folder", files), everything=True)
    assert [skill.subpath for skill in added] == ["skills/one"]
    assert [left.path for left in added.left_out] == ["preview/one"]


@pytest.mark.parametrize("kind", ["git", "folder"])
def test_what_is_left_out_is_named_with_the_reason(
    kind: str, installer: SkillInstaller, person: Person, repository: Repository, tmp_path: Path
) -> None:
    too_deep = "/".join(f"d{number}" for number in range(MAX_DEPTH + 1))
    files = {
        "skills/good/SKILL.md": skill_text("good"),
        "skills/good/inner/SKILL.md": skill_text("inner"),
        "skills/bad/SKILL.md": "---\nname: [\n---\n",
        f"{too_deep}/SKILL.md": skill_text("deep"),
        "node_modules/x/SKILL.md": skill_text("x"),
    }
    added = installer.add(made(kind, files, repository, tmp_path), everything=True)
    assert [skill.name for skill in added] == ["good"]
    reasons = {left.path: left.reason for left in added.left_out}
    assert set(reasons) == {"skills/bad", too_deep}
    assert "cannot be installed" in reasons["skills/bad"]
    assert "deeper than" in reasons[too_deep]
    assert person.last.left_out == added.left_out, "whoever is asked knows it beforehand"


def test_copies_of_a_skill_are_one_and_a_real_conflict_costs_one(
    installer: SkillInstaller, repository: Repository
) -> None:
    repository.commit(
        {
            "skills/copy/SKILL.md": skill_text("copy"),
            "plugins/p/skills/copy/SKILL.md": skill_text("copy"),
            "skills/twin/SKILL.md": skill_text("twin"),
            "plugins/p/skills/twin/SKILL.md": skill_text("twin", body="Other."),
        }
    )
    added = installer.add(repository.url, everything=True)
    assert {skill.name: skill.subpath for skill in added} == {"copy": "skills/copy", "twin": "skills/twin"}
    [left] = added.left_out
    assert left.path == "plugins/p/skills/twin"
    assert "skills/twin" in left.reason
    with pytest.raises(NameConflictError):
        installer.add(repository.url, path="plugins/p/skills/twin")


def test_a_name_that_is_nearly_right_brings_the_right_one(
    installer: SkillInstaller, repository: Repository
) -> None:
    names = [f"filler-{number:02}" for number in range(40)] + ["seo-audit", "writing"]
    repository.commit({f"skills/{name}/SKILL.md": skill_text(name) for name in names})
    with pytest.raises(InstallError, match=r"Near it: .*seo-audit.* … and 12 more"):
        installer.add(repository.url, skills=["seo"])


def test_a_name_that_cannot_be_installed_costs_that_skill_alone(
    installer: SkillInstaller, tmp_path: Path
) -> None:
    files = {
        "good/SKILL.md": skill_text("good"),
        "odd/SKILL.md": "---\nname: Caching $HOME\ndescription: d\n---\n",
    }
    added = installer.add(write(tmp_path / "folder", files), everything=True)
    assert [skill.name for skill in added] == ["good"]
    (left,) = added.left_out
    assert left.path == "odd"
    assert "cannot be the name" in left.reason


def test_a_name_that_is_taken_costs_that_skill_alone(installer: SkillInstaller, tmp_path: Path) -> None:
    installer.add(write(tmp_path / "first", {"mine/SKILL.md": skill_text("mine")}))
    files = {"mine/SKILL.md": skill_text("mine"), "new/SKILL.md": skill_text("new")}
    added = installer.add(write(tmp_path / "second", files), everything=True)
    assert [skill.name for skill in added] == ["new"]
    assert [left.path for left in added.left_out] == ["mine"]


def test_skills_inside_one_that_is_left_out_are_named(installer: SkillInstaller, tmp_path: Path) -> None:
    files = {
        "good/SKILL.md": skill_text("good"),
        "seo/SKILL.md": "No header",
        "seo/audit/SKILL.md": skill_text("audit"),
    }
    added = installer.add(write(tmp_path / "folder", files), everything=True)
    assert [skill.name for skill in added] == ["good"]
    assert "Left out with it: audit" in added.left_out[0].reason


@pytest.mark.parametrize("kind", ["git", "folder"])
def test_a_skill_in_another_spelling_of_its_file_is_named(
    kind: str, installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    files = {"skills/good/SKILL.md": skill_text("good"), "skills/lower/skill.md": skill_text("lower")}
    added = installer.add(made(kind, files, repository, tmp_path), everything=True)
    assert [skill.name for skill in added] == ["good"]
    [left] = added.left_out
    assert left.path == "skills/lower"
    assert "spelled skill.md" in left.reason
