"""The GitHub action and the GitLab template: their commands run as they are written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
SKILL = "---\nname: csv-report\ndescription: Summarise CSV files of rows as a report.\n{more}---\n\nCount.\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "skills/csv-report").mkdir(parents=True)
    write(tmp_path, "")
    # Where the first step of the action installs to.
    (tmp_path / "temp/skillkit").mkdir(parents=True)
    (tmp_path / "temp/skillkit/bin").symlink_to(Path(sys.executable).parent)
    return tmp_path


def write(project, more):
    (project / "skills/csv-report/SKILL.md").write_text(SKILL.format(more=more))


def run(project, script, **variables):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"RUNNER_TEMP": str(project / "temp"), "AGENT_HOME": str(project / "home"), "PATH": path}
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=project,
        env={**os.environ, **own, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_passes_good_skills_and_points_at_bad_lines(project):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, check = action["runs"]["steps"]
    assert {step["shell"] for step in (install, check)} == {"bash"}
    assert set(check["env"]) <= {"SKILLS", "TESTS"}
    variables = {"SKILLS": action["inputs"]["path"]["default"], "TESTS": "--no-run"}
    good = run(project, check["run"], **variables)
    assert good.returncode == 0, good.stderr
    write(project, "license: [MIT]\n")
    bad = run(project, check["run"], **variables)
    assert bad.returncode == 1
    assert "::error file=skills/csv-report/SKILL.md,line=4," in bad.stdout


def test_the_gitlab_template_writes_what_it_collects(project):
    job = yaml.safe_load((ROOT / "templates/skills.gitlab-ci.yml").read_text())["skills"]
    done = run(project, "\n".join(job["script"]), **job["variables"])
    assert done.returncode == 0, done.stderr
    assert (project / job["artifacts"]["reports"]["junit"]).read_text().startswith("<?xml")
