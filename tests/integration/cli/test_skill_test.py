"""`agent skill test` through the real program."""

import json
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest


@pytest.fixture
def library(tmp_path, write_skill):
    folder = tmp_path / "library"
    write_skill("csv-report", "Count.\n", description="Summarise CSV files of rows as a report.", into=folder)
    write_skill("translate", "Speak.\n", description="Translate texts between human languages.", into=folder)
    return folder


@pytest.fixture
def cases(tmp_path):
    file = tmp_path / "cases.json"
    rows = [
        {"id": "hit", "query": "Make a report of this CSV", "should_trigger": True},
        {"id": "miss", "query": "Translate this text, please", "should_trigger": True},
        {"id": "none", "query": "How are you?", "should_trigger": False},
    ]
    file.write_text(json.dumps(rows))
    return file


def test_routing_of_one_skill_from_a_file_of_triggers(run_agent, library, cases):
    arguments = ("skill", "test", cases, "--skill", "CSV_Report", "--in", library, "--mode", "lexical")
    answer = run_agent(*arguments, "--tier", "routing", "--json")
    data = json.loads(answer.stdout)
    assert answer.returncode == 1
    assert (data["metrics"]["routing"]["recall_at_1"], data["counts"]["failed"]) == (0.5, 1)
    shown = run_agent(*arguments, "--tier", "routing").stdout
    assert "recall@3" in shown
    assert "Translate this text" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert run_agent(*arguments, "--tier", "routing", "--fail-under", "60").returncode == 0
    more = run_agent(*arguments, "--tier", "routing", "--fail-under", "70")
    assert (more.returncode, more.stderr.splitlines()[-1]) == (
        1,
        "66.7% passed, less than the 70% of --fail-under",
    )


@pytest.mark.parametrize("form", ["github", "junit", "sarif", "json"])
@pytest.mark.parametrize("command", ["test", "validate"])
def test_a_report_is_printed_in_the_format_of_the_ci(run_agent, library, command, form):
    skill = library / "csv-report" / "SKILL.md"
    skill.write_text(skill.read_text().replace("description:", "license: [MIT]\ndescription:", 1))
    answer = run_agent("skill", command, library, "--format", form, cwd=library)
    assert answer.returncode == 1
    if form == "github":
        assert "::error file=csv-report/SKILL.md,line=" in answer.stdout
    elif form == "junit":
        assert ElementTree.fromstring(answer.stdout).findall(".//failure")
    elif form == "sarif":
        assert any(found["level"] == "error" for found in json.loads(answer.stdout)["runs"][0]["results"])
    else:
        assert json.loads(answer.stdout)


def test_a_schema_is_printed_by_its_name(run_agent):
    answer = run_agent("skill", "schema", "skill")
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["required"] == ["name", "description"]
    wrong = run_agent("skill", "schema", "other")
    assert wrong.returncode == 2
    assert "Invalid value for 'name': 'other' is not one of 'skill', " in wrong.stderr


def test_requests_without_anything_to_judge_are_told(run_agent, library):
    (library / "translate" / "evals").mkdir()
    cases = {"evals": [{"id": 1, "prompt": "Translate this"}, {"id": 2, "prompt": "And that"}]}
    (library / "translate" / "evals" / "evals.json").write_text(json.dumps(cases))
    answer = run_agent("skill", "test", library, "--tier", "behaviour", "--with", "true")
    assert answer.returncode == 1
    assert "2 cases say nothing to check: not run" in answer.stderr
    assert "Nothing was tested" in answer.stderr


@pytest.mark.parametrize(("given", "meant"), [("0.9", "90"), ("1", "100")])
def test_a_fraction_is_no_share_in_percent(run_agent, library, given, meant):
    answer = run_agent("skill", "test", library, "--fail-under", given)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"say {meant}" in answer.stderr


def test_a_folder_is_tested_with_the_cases_that_lie_in_it(run_agent, library, cases, tmp_path):
    (library / "csv-report" / "evals").mkdir()
    cases.rename(library / "csv-report" / "evals" / "triggers.json")
    earlier, junit = tmp_path / "report.json", tmp_path / "junit.xml"
    answer = run_agent("skill", "test", library, "--no-run", "--report", earlier, "--junit", junit)
    assert answer.returncode == 1, answer.stderr
    suites = ElementTree.fromstring(junit.read_text().encode()).findall("testsuite")
    assert {suite.get("name") for suite in suites} == {
        "csv-report.static",
        "csv-report.routing",
        "translate.static",
    }
    arguments = ("skill", "test", library, "--no-run", "--against", earlier)
    same = run_agent(*arguments, "--annotations")
    assert same.returncode == 1
    assert "No regressions." in same.stdout
    assert "::error file=" in same.stdout
    (library / "translate" / "SKILL.md").write_text(
        "---\nname: translate\ndescription: Words.\n---\nSpeak.\n"
    )
    assert run_agent(*arguments).returncode == 3


def test_discover_lists_what_is_read_and_why_the_rest_is_not(run_agent, library, cases):
    (library / "translate" / "evals").mkdir()
    (library / "translate" / "evals" / "evals.json").write_text("[")
    cases.rename(library / "csv-report" / "trigger-evals.json")
    answer = run_agent("skill", "test", library, "--discover", "--json")
    data = json.loads(answer.stdout)
    assert [(suite["format"], suite["skill"], suite["cases"]) for suite in data["suites"]] == [
        ("triggers", "csv-report", 3)
    ]
    assert "not well formed" in data["unreadable"][0]["reason"]


def test_lines_of_queries_for_many_skills(run_agent, library, tmp_path):
    cases = tmp_path / "queries.jsonl"
    rows = [
        {"query": "Make a report of this CSV", "relevant": ["lib/csv-report"], "negative_for": []},
        {"query": "What is 2+2?", "relevant": [], "negative_for": ["lib/translate"]},
    ]
    cases.write_text("\n".join(json.dumps(row) for row in rows))
    answer = run_agent("skill", "test", cases, "--in", library, "--mode", "lexical", "--tier", "routing")
    assert answer.returncode == 0, answer.stderr
    assert "No failures." in answer.stdout


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[", "not well formed"),
        ('[{"should_trigger": true}]', "without a request"),
        ('[{"query": "x", "should_trigger": true}]', "which skill"),
    ],
)
def test_cases_that_cannot_be_used_are_named(run_agent, library, tmp_path, text, complaint):
    cases = tmp_path / "cases.json"
    cases.write_text(text)
    answer = run_agent("skill", "test", cases, "--in", library)
    assert answer.returncode == 1
    assert complaint in answer.stderr.replace("\n", " ")


@pytest.fixture
def created(run_agent, tmp_path):
    answer = run_agent("skill", "create", "greeter", "--template", "scripts", "--into", tmp_path)
    assert answer.returncode == 0, answer.stderr
    return tmp_path / "greeter"


def test_a_created_skill_brings_an_evaluation_that_passes(run_agent, created):
    answer = run_agent("skill", "test", created, "--json")
    data = json.loads(answer.stdout)
    assert answer.returncode == 0, answer.stderr
    tiers = {(result["tier"], result["outcome"]) for result in data["results"]}
    assert tiers == {("static", "passed"), ("static", "warned"), ("routing", "passed"), ("scripts", "passed")}


def test_a_changed_script_fails_until_its_new_answer_is_accepted(run_agent, created):
    script = created / "scripts" / "greet.py"
    script.write_text(script.read_text().replace("Hello", "Good morning"))
    arguments = ("skill", "test", created, "--tier", "scripts")
    failed = run_agent(*arguments)
    assert failed.returncode == 1
    assert "expected" in failed.stdout
    refused = run_agent(*arguments, "--update")
    assert refused.returncode == 1
    assert "Good morning" in refused.stderr
    assert run_agent(*arguments, "--update", "--yes").returncode == 0
    assert run_agent(*arguments).returncode == 0
    cases = json.loads((created / "evals" / "scripts.json").read_text())["scripts"]
    assert [case["exit_code"] for case in cases] == [0, 2]
    assert cases[0]["json"] == {"greeting": "Good morning, Ada!"}


def test_the_cases_of_an_installed_skill_are_not_updated(run_agent, created):
    cases = created / "evals" / "scripts.json"
    cases.write_text(cases.read_text().replace("Hello", "Good morning"))
    assert run_agent("skill", "add", created, "--trusted").returncode == 0
    shutil.rmtree(created)  # a folder of that name would come before the installed skill
    done = run_agent("skill", "test", "greeter", "--tier", "scripts", "--update", "--yes")
    assert (done.returncode, "is part of an installed skill" in done.stderr) == (1, True), done.stderr
    assert run_agent("skill", "verify").returncode == 0


def test_an_update_leaves_what_holds_and_the_form_of_what_does_not(run_agent, created):
    (created / "scripts" / "greet.py").write_text(
        "import json, sys\nfrom pathlib import Path\n"
        'if len(sys.argv) > 2:\n    Path(sys.argv[2]).write_text(\'{"name": "Ada", "day": 3}\')\n'
        "print(json.dumps({'greeting': 'Hi', 'length': 2}))\n"
    )
    file = {"card.json": {"json": {"name": "Ada"}}}
    holds = {"id": "holds", "script": "greet", "args": ["Ada", "$WORK/card.json"], "produces": file}
    holds["json"] = {"length": 2}
    changed = {"id": "changed", "script": "greet", "args": ["Ada"], "json": {"greeting": "Hello"}}
    nothing = {"id": "nothing", "script": "greet", "args": ["Ada"]}
    cases = created / "evals" / "scripts.json"
    cases.write_text(json.dumps({"skill_name": "greeter", "scripts": [holds, changed, nothing]}))
    arguments = ("skill", "test", created, "--tier", "scripts")
    assert "changed: greet Ada" in " ".join(run_agent(*arguments).stdout.split())
    assert run_agent(*arguments, "--update", "--yes").returncode == 0
    assert json.loads(cases.read_text())["scripts"] == [
        holds,
        {**changed, "exit_code": 0, "json": {"greeting": "Hi"}},
        {**nothing, "exit_code": 0, "json": {"greeting": "Hi", "length": 2}},
    ]


def test_behaviour_by_another_program_is_recorded_and_replayed(run_agent, created, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print('I took the steps: one, two.')\n")
    cases = {
        "skill_name": "greeter",
        "evals": [{"id": 1, "prompt": "Go", "assertions": ['The output contains "steps"']}],
    }
    (created / "evals" / "evals.json").write_text(json.dumps(cases))
    page = tmp_path / "report.html"
    common = ("skill", "test", created, "--tier", "behaviour", "--json")
    made = run_agent(*common, "--with", f"{sys.executable} {program} {{prompt}}", "--html", page)
    assert made.returncode == 0, made.stderr
    program.unlink()
    again = run_agent(*common, "--replay")
    first, second = json.loads(made.stdout), json.loads(again.stdout)
    assert first["results"] == second["results"]
    assert first["metrics"]["behaviour"]["with_skill"] == 1.0
    assert "<script" not in page.read_text()
    assert "I took the steps" in page.read_text()
    shown = run_agent(*common[:-1], "--replay").stdout
    assert re.search(r"^with the skill .* \d+ +\d+\.\d$", shown, re.MULTILINE), "tokens are whole"


def test_recordings_of_an_installed_skill_do_not_edit_it(run_agent, created, tmp_path):
    cases = [{"id": 1, "prompt": "Go", "assertions": ['The output contains "done"']}]
    (created / "evals" / "evals.json").write_text(json.dumps({"evals": cases}))
    assert run_agent("skill", "add", created, "--name", "other-name", "--trusted").returncode == 0
    common = ("skill", "test", "other-name", "--tier", "behaviour")
    for arguments in (("--with", "echo done"), ("--replay",)):
        done = run_agent(*common, *arguments)
        assert done.returncode == 0, done.stderr
    assert run_agent("skill", "verify").returncode == 0


def test_a_paid_program_is_not_called_often_without_a_yes(run_agent, created, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print('x')\n")
    command = f"{sys.executable} {program} {{prompt}}"
    arguments = ("skill", "test", created, "--tier", "behaviour", "--with", command, "--runs", "4")
    refused = run_agent(*arguments)
    assert refused.returncode == 4
    assert "8 runs of a model" in refused.stderr
    assert "--yes" in refused.stderr
    assert run_agent(*arguments, "--yes", "--max-calls", "2").returncode == 1


def test_money_is_no_limit_of_a_program_that_names_no_price(run_agent, created, tmp_path):
    program = tmp_path / "in a folder" / "program.py"
    program.parent.mkdir()
    program.write_text("print('x')\n")
    command = f"{sys.executable} '{program}' {{prompt}}"
    arguments = ("skill", "test", created, "--with", command, "--no-baseline")
    refused = run_agent(*arguments, "--max-cost", "1")
    assert refused.returncode == 1
    assert "--max-calls or --max-tokens" in " ".join(refused.stderr.split())
    data = json.loads(run_agent(*arguments, "--json").stdout)
    assert {result["data"]["with"][0]["answer"] for result in data["results"]} == {"x"}
    assert "without the skill" not in run_agent(*arguments).stdout


@pytest.mark.parametrize("command", ["", "'"])
def test_a_program_that_is_not_named_is_said(run_agent, created, command):
    answer = run_agent("skill", "test", created, "--with", command)
    assert (answer.returncode, "--with" in answer.stderr, "Traceback" in answer.stderr) == (1, True, False)


def test_a_manifest_that_links_to_itself_is_no_skill(run_agent, tmp_path):
    """`Path.resolve` raises RuntimeError there until Python 3.13."""
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "SKILL.md").symlink_to("SKILL.md")
    done = run_agent("skill", "test", tmp_path / "loop")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_what_needs_no_model_loads_none(library, cases):
    arguments = ["agent", "skill", "test", str(cases), "--skill", "csv-report", "--in", str(library)]
    program = (
        f"import sys\nsys.argv = {arguments!r}\n"
        "from skillkit.agent.cli import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    print(ended.code)\n"
        "print(sorted({'agent_framework', 'numpy', 'onnxruntime', 'xllamacpp'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-2:] == ["1", "[]"], done.stderr


@pytest.mark.parametrize("target", ["./nowhere", "no-such-skill"])
def test_a_target_that_is_not_there_is_a_wrong_usage(run_agent, target):
    answer = run_agent("skill", "test", target)
    assert answer.returncode == 2, answer.stderr
    assert target.removeprefix("./") in answer.stderr
