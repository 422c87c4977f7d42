"""The program's own agent runs behaviour tests, with a skill and without, against a model server."""

import json
from pathlib import Path

from openai_server import CallTool, OpenAIServer, Say

from skillkit.agent.behaviour_tests import AGREEMENTS, BehaviourOptions, run_behaviour
from skillkit.evaluation import Outcome, SkillTester, find_targets

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
    assert result.outcome is Outcome.PASSED, result.problems
    measured = report.metrics["behaviour"]
    assert (measured["with_skill"], measured["without_skill"]) == (1.0, 0.0)
    assert "may,7" in json.dumps(online.requests[0].body)
    assert "Add up every row" in result.data["with"][0]["calls"][0]["result"]
    replayed = run_behaviour(tester, BehaviourOptions(replay=True), lambda estimate: False, print)
    assert replayed.results == report.results


def test_the_embedded_model_judges_nothing_that_it_was_not_measured_good_at() -> None:
    agreement = AGREEMENTS["local"]
    trusted = {
        kind for kind, (right, asked) in agreement.shares.items() if right / asked > 0.9 and asked >= 10
    }
    kinds = {*agreement.shares, "quality"}
    assert {kind for kind in kinds if agreement.trusted(kind)} == trusted
