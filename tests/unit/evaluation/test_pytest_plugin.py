"""`pytest --skills FOLDER` in a pytest of its own."""

import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest


@pytest.fixture
def folder(write_skill, skills_dir):
    skill = write_skill("sales", "See [it](gone.md).\n", description="Adds up CSV files of sales by month.")
    (skill / "evals").mkdir()
    cases = [{"id": "sum", "query": "Add up the sales in this CSV by month", "should_trigger": True}]
    (skill / "evals" / "triggers.json").write_text(json.dumps(cases))
    return skills_dir


def test_each_case_is_a_test_with_its_name_and_its_reason(folder, tmp_path):
    plugin = ["-p", "no:cacheprovider", "-p", "no:randomly"]
    if not [point for point in entry_points(group="pytest11") if point.name == "skillkit"]:
        plugin += ["-p", "skillkit.evaluation.pytest_plugin"]  # this environment was made before the plugin
    command = [sys.executable, "-m", "pytest", *plugin, "-c", "/dev/null", "--rootdir", tmp_path, "-v"]
    options = ["--skills", folder, "--skills-mode", "lexical", "--skills-no-run", "-n0", str(tmp_path)]
    answer = subprocess.run([*command, *options], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert answer.returncode == 1, answer.stderr
    assert "sales[routing-sum] PASSED" in answer.stdout
    assert "sales[static-files-exist] FAILED" in answer.stdout
    assert "links to gone.md, which is not there" in answer.stdout
    assert "1 failed, 19 passed" in answer.stdout
