"""The program's own agent runs behaviour tests, with a skill and without, against a model server."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from model_server import USAGE_IN, USAGE_OUT
from openai_server import CallTool, OpenAIServer, Say

from skillkit.agent.behaviour_tests import AGREEMENTS, BehaviourOptions, run_behaviour
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


def test_the_embedded_model_judges_nothing_that_it_was_not_measured_good_at() -> None:
    agreement = AGREEMENTS["local"]
    trusted = {
        kind for kind, (right, asked) in agreement.shares.items() if right / asked > 0.9 and asked >= 10
    }
    kinds = {*agreement.shares, "quality"}
    assert {kind for kind in kinds if agreement.trusted(kind)} == trusted


def test_a_run_that_is_killed_goes_on_without_asking_twice(online: OpenAIServer, tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "sales"
    (folder / "evals").mkdir(parents=True)
    header = "---\nname: sales\ndescription: Handles ledgers of shops.\n---\n"
    (folder / "SKILL.md").write_text(f"{header}Add up every row.\n")
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "sales", "evals": [CASE]}))
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()", "skill", "test"]
    command += [str(folder), "--provider", "openai", "--no-baseline", "--tier", "behaviour", "--yes"]
    online.replies = [CallTool("load_skill", {"skill_id": "sales"})]
    started: list[subprocess.Popen[bytes]] = []
    online.before = lambda: started[0].kill() if len(online.requests) == 2 else None
    started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    assert started[0].wait(timeout=120) == -signal.SIGKILL
    asked = len(online.requests)
    online.replies = [Say("It is 7.")]
    done = subprocess.run([*command, "--resume", "--json"], capture_output=True, text=True, check=False)
    (result,) = json.loads(done.stdout)["results"]
    assert (result["outcome"], len(online.requests) - asked) == ("passed", 1), json.dumps(result)
    assert [call["name"] for call in result["data"]["with"][0]["calls"]] == ["load_skill"]
    assert not list(folder.rglob("unfinished"))
    plugin = ["-p", "no:cacheprovider", "-c", "/dev/null", "-n0"]
    options = [
        "--rootdir",
        str(tmp_path),
        "--skills",
        str(folder),
        "--skills-replay",
        "--skills-no-run",
        "-v",
    ]
    replayed = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *options, "-k", "behaviour"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "sales[behaviour-1] PASSED" in replayed.stdout, replayed.stdout + replayed.stderr
    assert len(online.requests) - asked == 1


@pytest.mark.parametrize("killed_at", [1, 2, 3])
def test_whatever_request_a_run_is_killed_at_no_answered_one_is_asked_again(
    online: OpenAIServer, tmp_path: Path, killed_at: int
) -> None:
    folder = tmp_path / "skills" / "sales"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: sales\ndescription: Handles ledgers.\n---\nAdd up.\n")
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "sales", "evals": [CASE]}))
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()", "skill", "test"]
    command += [str(folder), "--provider", "openai", "--tier", "behaviour", "--yes"]
    answers = [CallTool("load_skill", {"skill_id": "sales"}), Say("It is 7."), Say("No idea.")]
    online.replies = answers[: killed_at - 1]
    started: list[subprocess.Popen[bytes]] = []
    online.before = lambda: started[0].kill() if len(online.requests) == killed_at else None
    started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    assert started[0].wait(timeout=120) == -signal.SIGKILL
    asked = len(online.requests)
    online.replies = answers[killed_at - 1 :]
    done = subprocess.run([*command, "--resume", "--json"], capture_output=True, text=True, check=False)
    (result,) = json.loads(done.stdout)["results"]
    assert len(online.requests) - asked == len(answers) - (killed_at - 1)
    assert [result["data"][variant][0]["answer"] for variant in ("with", "without")] == [
        "It is 7.",
        "No idea.",
    ]


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
    cost = 2 * (USAGE_IN * 1 + USAGE_OUT * 2) / 1_000_000
    assert report.metrics["behaviour"]["spent"]["cost"] == pytest.approx(cost, abs=1e-4)
    assert [result.outcome is CaseOutcome.SKIPPED for result in report.results] == [False, False, True]
    assert len(online.requests) == 2
    assert any("limit of 0.0002 USD" in note for note in report.notes)
