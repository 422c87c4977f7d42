"""A release: what has to agree, and a wheel that works where nothing else of skillkit is."""

import subprocess
import sys
from pathlib import Path

import pytest
from recipes import release

ROOT = Path(__file__).parents[2]


def project(folder: Path, *, version: str = "1.2.0", section: str = "1.2.0 (unreleased)") -> Path:
    (folder / "src/skillkit").mkdir(parents=True)
    (folder / "src/skillkit/_version.py").write_text(f'__version__ = "{version}"\n')
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## {section}\n\n- New.\n\n## 1.1.0 (2026-01-02)\n")
    git(folder, "init", "-q")
    return commit(folder)


def commit(folder: Path) -> Path:
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x", "--allow-empty")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def test_version_changelog_and_tag_agree(tmp_path: Path) -> None:
    root = project(tmp_path)
    assert release.check_version(root, dry=True) == "1.2.0"
    git(root, "tag", "v1.2.0")
    assert release.check_version(root, dry=True) == "1.2.0"
    commit(root)
    with pytest.raises(release.ReleaseError, match=r"the tag v1\.2\.0 is at .* another commit"):
        release.check_version(root, dry=True)


def test_a_changelog_that_is_about_another_version_is_refused(tmp_path: Path) -> None:
    root = project(tmp_path, section="1.1.9 (2026-11-18)")
    with pytest.raises(release.ReleaseError, match=r"says 1\.2\.0, .* CHANGELOG\.md 1\.1\.9"):
        release.check_version(root, dry=True)


def test_a_section_without_a_date_is_not_released(tmp_path: Path) -> None:
    with pytest.raises(release.ReleaseError, match=r"write ## 1\.2\.0 \(20"):
        release.check_version(project(tmp_path), dry=False)


def test_every_python_that_ci_runs_has_its_classifier(tmp_path: Path) -> None:
    release.check_classifiers(ROOT)
    (tmp_path / ".github/workflows").mkdir(parents=True)
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    (tmp_path / ".github/workflows/ci.yml").write_text(workflow.replace('"3.13"', '"3.13", "3.14"'))
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    with pytest.raises(release.ReleaseError, match=r"CI runs Python .*3\.14; the classifiers name"):
        release.check_classifiers(tmp_path)


def test_the_interpreters_at_hand_are_those_that_can_run_it() -> None:
    numbers = []
    for python in release.pythons():
        told = subprocess.run([python, "-c", release.TELL], capture_output=True, text=True, check=True)
        numbers.append(tuple(map(int, told.stdout.split()[:3])))
    assert numbers == sorted(numbers)
    assert numbers[0] >= release.MINIMUM


@pytest.mark.slow
def test_the_wheel_works_where_nothing_else_of_skillkit_is() -> None:
    command = [sys.executable, "-m", "recipes.release", "--dry-run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "twine check --strict found nothing" in done.stdout
    assert done.stdout.count("agent demo and agent --check work") >= 1
    assert "can be released" in done.stdout
