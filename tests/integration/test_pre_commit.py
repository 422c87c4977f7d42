"""The hooks for pre-commit, run by pre-commit itself on a repository of skills."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from skill_repositories import skill_text

ROOT = Path(__file__).parents[2]
PRE_COMMIT = Path(sys.executable).with_name("pre-commit")
SHIPPED = (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE", "src")
DESCRIPTION = "Fills in PDF forms. Use when a PDF form has fields to fill in."
TRIGGERS = '[{"query": "Fill in this PDF form", "should_trigger": true}]'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PRE_COMMIT.exists(), reason="pre-commit is in the extra dev"),
]


def commit(folder: Path) -> str:
    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x", "--no-verify")
    return git("rev-parse", "HEAD").strip()


def test_the_hooks_pass_good_skills_and_stop_bad_ones(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "skillkit", tmp_path / "skills"
    ours.mkdir()
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, ours / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, ours / name)
    revision = commit(ours)
    skill = theirs / "pdf-forms"
    (skill / "evals").mkdir(parents=True)
    text = skill_text("pdf-forms", description=DESCRIPTION)
    (skill / "SKILL.md").write_text(text)
    (skill / "evals" / "triggers.json").write_text(TRIGGERS)
    (theirs / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {ours}\n  rev: {revision}\n  hooks:\n  - id: skill-validate\n  - id: skill-test\n"
    )
    commit(theirs)

    def pre_commit() -> subprocess.CompletedProcess[str]:
        subprocess.run(["git", "add", "-A"], cwd=theirs, check=True)
        environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
        command = [str(PRE_COMMIT), "run", "--all-files", "--color=never"]
        return subprocess.run(
            command, cwd=theirs, env=environment, capture_output=True, text=True, check=False
        )

    good = pre_commit()
    assert good.returncode == 0, good.stdout + good.stderr
    assert good.stdout.count("Passed") == 2, good.stdout

    (skill / "SKILL.md").write_text(text.replace("description: ", "describtion: "))
    bad = pre_commit()
    assert bad.returncode == 1, bad.stdout
    assert "description" in bad.stdout

    (skill / "SKILL.md").write_text(text.replace(DESCRIPTION, "Bakes bread."))
    unrouted = pre_commit()
    assert unrouted.returncode == 1, unrouted.stdout
    assert "nothing matched" in unrouted.stdout
