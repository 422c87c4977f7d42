"""The program's own agent runs behaviour tests, with a skill and without, against a model server."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from openai_server import CallTool, Fail, OpenAIServer, Say

from skillkit.agent.behaviour_tests import BehaviourOptions, run_behaviour
from skillkit.agent.settings import SettingsFile
from skillkit.core.exceptions import ConfigurationError
from skillkit.evaluation import CaseOutcome, SkillTester, find_targets

CASE = {
    "id": 1,
    "prompt": "Add up in.csv",
    "files": {"in.csv": "may,7"},
    "assertions": [
        'The output contains "7"',
        {"type": "skill_invocation"},
        {"type": "tool_use", "value": "load_skill"},
    ],
}


def test_a_skill_is_compared_with_its_absence(online: OpenAIServer, tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "sales"
    (folder / "evals").mkdir(parents=True)
    header = "---\nname: sales\ndescription: Handles ledgers of shops.\n---\n"
    (folder / "SKILL.md").write_text(f"{header}Add up every row.\n")
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "sales", "evals": [CASE]}))
    targets = find_targets([folder])
    tester = SkillTester(targets.skills, targets.suites)
    online.replies = [CallTool("load_skill", {"skill_id": "sales"}), Say("It is 7."), Say("No idea.")]
    report = run_behaviour(tester, BehaviourOptions(provider="openai"), lambda estimate: False, print)
    (result,) = report.results
    assert result.outcome is CaseOutcome.PASSED, result.problems
    measured = report.metrics["behaviour"]
    assert (measured["with_skill"], measured["without_skill"]) == (1.0, 0.0)
    assert "may,7" in json.dumps(online.requests[0].body)
    assert "Add up every row" in result.data["with"][0]["calls"][0]["result"]
    replayed = run_behaviour(tester, BehaviourOptions(replay=True), lambda estimate: False, print)
    assert replayed.results == report.results
    again = run_behaviour(tester, BehaviourOptions(replay=True), lambda estimate: False, print)
    assert json.dumps(again.as_data()) == json.dumps(replayed.as_data())
    assert replayed.metrics == report.metrics


def test_the_embedded_model_is_no_judge(online: OpenAIServer, sales: Path) -> None:
    targets = find_targets([sales])
    options = BehaviourOptions(provider="openai", judge="local")
    with pytest.raises(ConfigurationError, match="no better than chance"):
        run_behaviour(SkillTester(targets.skills, targets.suites), options, lambda estimate: False, print)


COMMAND = [sys.executable, "-c", "from skillkit.agent.cli import main; main()", "skill", "test"]
ANSWERS = (CallTool("load_skill", {"skill_id": "sales"}), Say("It is 7."), Say("No idea."))


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    folder = tmp_path / "skills" / "sales"
    (folder / "evals").mkdir(parents=True)
    header = "---\nname: sales\ndescription: Handles ledgers of shops.\n---\n"
    (folder / "SKILL.md").write_text(f"{header}Add up every row.\n")
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "sales", "evals": [CASE]}))
    return folder


def killed(command: Sequence[str], online: OpenAIServer, at_request: int) -> None:
    """Run a command that is killed while the service has this request and did not answer it."""
    started: list[subprocess.Popen[bytes]] = []
    online.before = lambda: started[0].kill() if len(online.requests) == at_request else None
    started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    assert started[0].wait(timeout=300) == -signal.SIGKILL
    online.before = lambda: None


def result_of(command: Sequence[str]) -> dict[str, Any]:
    (result,) = report_of(command)["results"]
    return result


def report_of(command: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "at_request", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_wherever_a_run_is_killed_nothing_is_asked_twice_unless_somebody_says_so(
    online: OpenAIServer, sales: Path, at_request: int
) -> None:
    command = [*COMMAND, str(sales), "--provider", "openai", "--tier", "behaviour", "--yes"]
    online.replies = list(ANSWERS[: at_request - 1])
    killed(command, online, at_request)
    online.replies = []
    for _ in range(2):
        report = report_of([*command, "--resume"])
        (result,) = report["results"]
        assert (result["outcome"], "not repeated unless asked" in result["message"]) == ("error", True), (
            result
        )
        assert "--ask-again" in report["notes"][-1]
        assert len(online.requests) == at_request
    online.replies = list(ANSWERS[at_request - 1 :])
    result = result_of([*command, "--resume", "--ask-again"])
    made = [result["data"][variant][0]["answer"] for variant in ("with", "without")]
    assert (made, len(online.requests)) == (["It is 7.", "No idea."], len(ANSWERS) + 1), result
    assert [call["name"] for call in result["data"]["with"][0]["calls"]] == ["load_skill"]
    assert not list(sales.rglob("unfinished"))


def test_a_run_that_a_service_broke_off_goes_on_after_the_answers_it_got(
    online: OpenAIServer, sales: Path
) -> None:
    command = [*COMMAND, str(sales), "--provider", "openai", "--no-baseline", "--tier", "behaviour", "--yes"]
    online.replies = [ANSWERS[0], Fail(400)]
    assert result_of(command)["outcome"] == "error"
    online.replies = [ANSWERS[1]]
    result = result_of([*command, "--resume"])
    assert (result["outcome"], len(online.requests)) == ("passed", 3), result
    assert not list(sales.rglob("unfinished"))


def test_a_judge_that_was_asked_when_a_test_was_killed_is_not_asked_twice(
    online: OpenAIServer, sales: Path
) -> None:
    asked = {"id": 1, "prompt": "Add up", "assertions": ["Is written with care"]}
    (sales / "evals" / "evals.json").write_text(json.dumps({"skill_name": "sales", "evals": [asked]}))
    command = [*COMMAND, str(sales), "--provider", "openai", "--judge", "openai", "--no-baseline"]
    command += ["--tier", "behaviour", "--yes"]
    online.replies = [Say("It is 7.")]
    killed(command, online, at_request=2)
    online.replies = []
    result = result_of([*command, "--resume"])
    (grade,) = result["data"]["with"][0]["grades"]
    assert (result["outcome"], grade["passed"], len(online.requests)) == ("not-judged", None, 2), result
    assert "not repeated unless asked" in grade["evidence"]
    online.replies = [Say('[{"number": 1, "holds": true, "quote": "It is 7."}]')]
    assert result_of([*command, "--resume", "--ask-again"])["outcome"] == "passed"
    assert not list(sales.rglob("unfinished"))


def test_an_answer_that_the_user_did_not_wait_for_is_asked_for_when_the_test_goes_on(
    online: OpenAIServer, sales: Path
) -> None:
    command = [*COMMAND, str(sales), "--provider", "openai", "--no-baseline", "--tier", "behaviour", "--yes"]
    started: list[subprocess.Popen[bytes]] = []

    def interrupt() -> None:
        if len(online.requests) == 2:
            started[0].send_signal(signal.SIGINT)
            started[0].wait(timeout=300)

    online.before = interrupt
    online.replies = [
        ANSWERS[0],
        ANSWERS[1],
        ANSWERS[1],
    ]  # the second, which nobody waits for, comes at any time
    started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    assert started[0].wait(timeout=300) == 1
    result = result_of([*command, "--resume"])
    assert (result["outcome"], len(online.requests)) == ("passed", 3), result


def test_a_recorded_run_is_a_test_of_pytest_that_asks_nobody(
    online: OpenAIServer, sales: Path, tmp_path: Path
) -> None:
    command = [*COMMAND, str(sales), "--provider", "openai", "--no-baseline", "--tier", "behaviour", "--yes"]
    online.replies = list(ANSWERS[:2])
    assert result_of(command)["outcome"] == "passed"
    asked = len(online.requests)
    plugin = ["-p", "no:cacheprovider", "-c", "/dev/null", "-n0", "--rootdir", str(tmp_path), "-v"]
    options = ["--skills", str(sales), "--skills-replay", "--skills-no-run", "-k", "behaviour"]
    replayed = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "sales[behaviour-1] PASSED" in replayed.stdout, replayed.stdout + replayed.stderr
    assert len(online.requests) == asked


def test_a_limit_in_money_needs_a_price_and_then_holds(
    online: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "skills" / "sales"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: sales\ndescription: Handles ledgers of shops.\n---\nAdd up.\n"
    )
    cases = [{"id": number, "prompt": f"Add up {number}", "expected_output": "7"} for number in range(3)]
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "sales", "evals": cases}))
    targets = find_targets([folder])
    tester = SkillTester(targets.skills, targets.suites)
    options = BehaviourOptions(provider="openai", baseline=False, max_cost=0.0002)
    with pytest.raises(ConfigurationError, match=r"openai\.price"):
        run_behaviour(tester, options, lambda estimate: True, print)
    assert online.requests == []
    SettingsFile().change("openai.price", "1/2")
    report = run_behaviour(tester, options, lambda estimate: True, print)
    skipped = [result.outcome is CaseOutcome.SKIPPED for result in report.results]
    assert skipped == [False, True, True], "the first case and its judge have used the money up"
    assert any("limit of 0.0002 USD" in note for note in report.notes)
