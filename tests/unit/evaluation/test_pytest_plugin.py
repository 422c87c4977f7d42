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


def run_pytest(folder, tmp_path, *options):
    plugin = ["-p", "no:cacheprovider", "-p", "no:randomly"]
    if not [point for point in entry_points(group="pytest11") if point.name == "skillkit"]:
        plugin += ["-p", "skillkit.evaluation.pytest_plugin"]  # this environment was made before the plugin
    command = [sys.executable, "-m", "pytest", *plugin, "-c", "/dev/null", "--rootdir", tmp_path, "-v", "-n0"]
    more = ["--skills", folder, "--skills-mode", "lexical", *options, str(tmp_path)]
    return subprocess.run([*command, *more], capture_output=True, text=True, cwd=tmp_path, check=False)


def test_each_case_is_a_test_with_its_name_and_its_reason(folder, tmp_path):
    answer = run_pytest(folder, tmp_path, "--skills-no-run")
    assert answer.returncode == 1, answer.stderr
    assert "sales[routing-sum] PASSED" in answer.stdout
    assert "sales[static-files-exist] FAILED" in answer.stdout
    assert "links to gone.md, which does not exist" in answer.stdout
    assert "1 failed, 19 passed" in answer.stdout


def test_cases_of_skills_are_marked_and_left_out_by_the_mark(folder, tmp_path):
    (tmp_path / "test_mine.py").write_text("def test_mine(): pass\n")
    answer = run_pytest(folder, tmp_path, "--skills-no-run", "-m", "not skill", "--strict-markers")
    assert answer.returncode == 0, answer.stdout
    assert "1 passed, 20 deselected" in answer.stdout


def test_the_fixture_gives_a_tester_to_tests_of_ones_own(folder, tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "from pathlib import Path\n\n"
        "def test_requests_find_their_skill(skill_tester):\n"
        f"    report = skill_tester(Path({str(folder)!r})).run_routing()\n"
        "    assert report.pass_rate == 1.0\n"
    )
    answer = run_pytest(folder, tmp_path, "-m", "not skill")
    assert answer.returncode == 0, answer.stdout


def test_what_the_skill_accepts_does_not_fail(folder, tmp_path):
    entry = {"id": "files-exist", "contains": "gone.md", "reason": "it is generated"}
    (folder / "sales/evals/accepted.json").write_text(json.dumps([entry]))
    answer = run_pytest(folder, tmp_path, "--skills-no-run")
    assert answer.returncode == 0, answer.stdout
    assert "sales[static-files-exist] PASSED" in answer.stdout


def test_a_script_that_answers_otherwise_is_shown_as_a_difference(folder, tmp_path):
    (folder / "sales" / "scripts").mkdir()
    (folder / "sales" / "scripts" / "total.py").write_text(
        "import json, sys\nprint(json.dumps({'total': sum(map(int, open(sys.argv[1])))}))\n"
    )
    case = {"id": "adds", "script": "total", "args": ["$WORK/in.txt"], "files": {"in.txt": "3\n4\n"}}
    cases = {"scripts": [{**case, "json": {"total": 7}}, {**case, "id": "differs", "json": {"total": 8}}]}
    (folder / "sales" / "evals" / "scripts.json").write_text(json.dumps(cases))
    answer = run_pytest(folder, tmp_path, "-k", "scripts-adds or scripts-differs")
    assert "sales[scripts-adds] PASSED" in answer.stdout, answer.stdout
    assert "sales[scripts-differs] FAILED" in answer.stdout
    assert '-    "total": 8' in answer.stdout
    assert '+    "total": 7' in answer.stdout


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("above", marks=pytest.mark.slow),
        pytest.param("inside", marks=pytest.mark.slow),
        "a folder that pytest looks into by itself",
    ],
)
def test_code_of_a_skill_is_not_collected(folder, tmp_path, where):
    skill = folder / "sales"
    if where.startswith("a folder"):
        skill = skill.rename(tmp_path / "test-sales")
    mark = tmp_path / "ran"
    (skill / "tests").mkdir()
    for name in ("conftest.py", "test_evil.py", "tests/conftest.py", "tests/test_evil.py"):
        (skill / name).write_text(f"open({str(mark)!r}, 'w').close()\ndef test_evil(): pass\n")
    start = skill if where == "inside" else tmp_path
    answer = run_pytest(skill, start, "--skills-no-run")
    assert "sales[routing-sum] PASSED" in answer.stdout, answer.stdout + answer.stderr
    assert "test_evil" not in answer.stdout
    assert not mark.exists()
