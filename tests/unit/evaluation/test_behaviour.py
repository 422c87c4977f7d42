"""Runs with and without a skill, by a real program: recorded, replayed, resumed, bounded, graded."""

import dataclasses
import json
import os
import select
import subprocess
import sys

import pytest

from skillkit.evaluation.behaviour.budget import Budget
from skillkit.evaluation.behaviour.executor import Task, ToolCall, Transcript
from skillkit.evaluation.behaviour.graders import grade
from skillkit.evaluation.behaviour.judge import Judge
from skillkit.evaluation.behaviour.program import ProgramExecutor
from skillkit.evaluation.behaviour.recording import Recordings, RunKey, StaleRecordingError
from skillkit.evaluation.behaviour.runs import BehaviourRunner
from skillkit.evaluation.behaviour.statistics import difference, pass_rate
from skillkit.evaluation.cases import Check, CheckKind
from skillkit.evaluation.report import CaseOutcome

PROGRAM = """
import pathlib, sys
log = pathlib.Path({log!r})
log.write_text((log.read_text() if log.exists() else "") + "x")
if list(pathlib.Path(".agents").rglob("SKILL.md")) if pathlib.Path(".agents").exists() else []:
    pathlib.Path("out.csv").write_text(pathlib.Path("in.csv").read_text().upper())
    print("Total: 7")
else:
    print("I do not know.")
"""
CASE = {
    "id": 1,
    "prompt": "Add up in.csv",
    "files": {"in.csv": "may,7"},
    "assertions": [
        'The output contains "Total"',
        {"type": "file_contains", "path": "out.csv", "value": "MAY"},
        "Is friendly",
    ],
}


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def program(tmp_path, log):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(log=str(log)))
    return ProgramExecutor((sys.executable, str(file), "{prompt}"), paid=False)


@pytest.fixture
def case(tester, write_skill):
    folder = write_skill("sales", "Add up.\n", description="Adds up CSV files of sales by month.")
    (folder / "evals").mkdir()
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "sales", "evals": [CASE]}))
    return tester


@pytest.mark.parametrize("folder", ["evals", "eval"])
def test_a_program_does_not_see_the_answers(case, program, tmp_path, folder):
    (skill,) = case().skills
    (skill.base_dir / "evals").rename(skill.base_dir / folder)
    (tmp_path / "work").mkdir()
    program.run(Task(("Add up",), tmp_path / "work", skill))
    copied = tmp_path / "work" / ".agents" / "skills" / "sales"
    assert [path.name for path in copied.iterdir()] == ["SKILL.md"]


def test_the_skill_is_compared_with_its_absence(case, program, tmp_path, log):
    runner = BehaviourRunner(Recordings(tmp_path / "rec"), program, runs=2)
    report = case().run_behaviour(runner)
    (result,) = report.results
    assert (result.outcome, result.message) == (CaseOutcome.PASSED, "2 checks not judged")
    measured = report.metrics["behaviour"]
    assert (measured["with_skill"], measured["without_skill"]) == (1.0, 0.0)
    assert measured["difference"]["delta"] == 1.0
    assert log.read_text() == "xxxx"
    assert result.data["with"][0]["files"]["out.csv"] == "MAY,7"


def test_a_replay_needs_no_program_and_gives_the_same_bytes(case, program, tmp_path):
    first = case().run_behaviour(BehaviourRunner(Recordings(tmp_path / "rec"), program))
    again = case().run_behaviour(BehaviourRunner(Recordings(tmp_path / "rec", replay=True)))
    assert json.dumps(again.as_data()["results"]) == json.dumps(first.as_data()["results"])


def test_a_recording_of_another_version_is_refused_unless_accepted(case, program, tmp_path, skills_dir):
    case().run_behaviour(BehaviourRunner(Recordings(tmp_path / "rec"), program))
    manifest = skills_dir / "sales" / "SKILL.md"
    manifest.write_text(manifest.read_text() + "More.\n")
    (refused,) = case().run_behaviour(BehaviourRunner(Recordings(tmp_path / "rec", replay=True))).results
    assert (refused.outcome, "another version of the skill" in refused.message) == (CaseOutcome.ERROR, True)
    stale = Recordings(tmp_path / "rec", replay=True, accept_stale=True)
    report = case().run_behaviour(BehaviourRunner(stale))
    assert report.results[0].outcome is CaseOutcome.PASSED
    assert "another version" in report.notes[-1]


def test_an_interrupted_run_is_resumed_without_asking_again(case, program, tmp_path, log):
    def interrupt(text):
        if "run 2" in text:
            raise KeyboardInterrupt

    recordings = Recordings(tmp_path / "rec")
    stopped = case().run_behaviour(BehaviourRunner(recordings, program, runs=3, progress=interrupt))
    assert [result.outcome for result in stopped.results] == [CaseOutcome.SKIPPED]
    assert "interrupted" in stopped.notes[-1]
    resumed = BehaviourRunner(Recordings(tmp_path / "rec", resume=True), program, runs=3)
    assert resumed.estimate(case().behaviour_cases()).recorded == 1
    assert case().run_behaviour(resumed).results[0].outcome is CaseOutcome.PASSED
    assert log.read_text() == "x" * 6


def test_a_program_that_was_at_work_when_the_test_was_killed_is_asked_again_only_when_told(
    case, tmp_path, log
):
    """Nor does it go on when nobody waits for it any more, or what it started."""
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    file = tmp_path / "program.sh"
    file.write_text(
        f"echo x >> {log}\n[ $(wc -l < {log}) = 1 ] && {{ sleep 600 & echo $$ $! > {fifo}; wait; }}\necho 7\n"
    )
    folder = case().skills[0].base_dir
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()", "skill", "test", folder]
    command += ["--tier", "behaviour", "--no-baseline", "--yes", "--json", "--recordings", tmp_path / "rec"]
    command += ["--with", f"sh {file} {{prompt}}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        watched = [os.pidfd_open(int(number)) for number in fifo.read_text().split()]
        started.kill()
    for descriptor in watched:
        assert select.select([descriptor], [], [], 60)[0], "still running"
        os.close(descriptor)

    def resumed(*more):
        done = subprocess.run([*command, "--resume", *more], capture_output=True, text=True, check=False)
        (result,) = json.loads(done.stdout)["results"]
        return result["outcome"], result["message"]

    for _ in range(2):
        outcome, message = resumed()
        assert (outcome, "not repeated unless asked" in message) == ("error", True), message
        assert log.read_text() == "x\n"
    outcome, message = resumed("--ask-again")
    assert (outcome, log.read_text()) == ("failed", "x\nx\n"), message
    assert not list((tmp_path / "rec").rglob("unfinished"))


def test_a_program_is_found_where_the_user_stands(case, tmp_path, monkeypatch, log):
    script = tmp_path / "answer.sh"
    script.write_text("#!/bin/sh\necho Total: 7\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    program = ProgramExecutor.named(["./answer.sh"])
    runner = BehaviourRunner(Recordings(tmp_path / "rec"), program, baseline=False)
    (result,) = case().run_behaviour(runner).results
    assert result.data["with"][0]["answer"] == "Total: 7"


def test_a_budget_ends_a_run_and_keeps_what_is_done(case, program, tmp_path, log):
    runner = BehaviourRunner(Recordings(tmp_path / "rec"), program, runs=5, budget=Budget(max_calls=3))
    report = case().run_behaviour(runner)
    assert "limit of 3 calls" in report.notes[-1]
    assert [result.outcome for result in report.results] == [CaseOutcome.SKIPPED]
    assert log.read_text() == "xxx"


def test_each_skill_keeps_its_own_recordings(case, program, write_skill, skills_dir):
    other = write_skill("taxes", "Add up.\n", description="Computes the taxes of a year.")
    (other / "evals").mkdir()
    (other / "evals" / "evals.json").write_text(json.dumps({"skill_name": "taxes", "evals": [CASE]}))
    case().run_behaviour(BehaviourRunner(Recordings(), program))
    alone = case(other).run_behaviour(BehaviourRunner(Recordings(replay=True)))
    assert [result.outcome for result in alone.results] == [CaseOutcome.PASSED]
    assert len(list((skills_dir / "sales" / "evals" / "recordings").glob("*.json"))) == 2


def test_a_run_that_broke_off_says_nothing_of_the_skill_and_is_tried_again(case, tmp_path, log):
    file = tmp_path / "limited.py"
    file.write_text(
        f"import pathlib, sys\nlog = pathlib.Path({str(log)!r})\n"
        "if not log.exists():\n    log.write_text('x')\n    sys.exit('429 too many requests')\n"
        "log.write_text(log.read_text() + 'x')\npathlib.Path('out.csv').write_text('MAY')\nprint('Total')\n"
    )
    limited = ProgramExecutor((sys.executable, str(file), "{prompt}"), paid=False)
    first = case().run_behaviour(BehaviourRunner(Recordings(tmp_path / "rec"), limited, baseline=False))
    assert first.results[0].outcome is CaseOutcome.ERROR
    assert "429 too many requests" in first.results[0].message
    assert first.metrics["behaviour"]["with_skill"] is None
    resuming = BehaviourRunner(Recordings(tmp_path / "rec", resume=True), limited, baseline=False)
    assert resuming.estimate(case().behaviour_cases()).runs == 1
    assert case().run_behaviour(resuming).results[0].outcome is CaseOutcome.PASSED
    assert log.read_text() == "xx"


@pytest.mark.parametrize(("text", "outcome"), [("MAY", CaseOutcome.PASSED), ("JUNE", CaseOutcome.FAILED)])
def test_a_checker_of_the_skill_reads_the_files_of_the_run(text, outcome, tester, write_skill, tmp_path):
    folder = write_skill("sales", "Add up.\n", description="Adds up CSV files of sales by month.")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "check.py").write_text(
        "import pathlib, sys\nfolder = pathlib.Path(sys.argv[1])\n"
        "sys.exit(0 if 'MAY' in (folder / 'out.csv').read_text() else 'there is no May')\n"
    )
    (folder / "evals").mkdir()
    checks = [{"type": "checker", "command": "scripts/check.py"}, {"type": "max_tokens", "value": 500}]
    cases = {"evals": [{"id": 1, "prompt": "Add up", "assertions": checks}]}
    (folder / "evals" / "evals.json").write_text(json.dumps(cases))
    writer = tmp_path / "writer.py"
    writer.write_text(f"import pathlib\npathlib.Path('out.csv').write_text({text!r})\n")
    executor = ProgramExecutor((sys.executable, str(writer), "{prompt}"), paid=False)
    runner = BehaviourRunner(Recordings(tmp_path / "rec"), executor, baseline=False)
    (result,) = tester().run_behaviour(runner).results
    assert result.outcome is outcome
    assert all("there is no May" in str(problem) for problem in result.problems)


RUN = Transcript(
    'Here: {"a": 1}',
    (ToolCall("read", '{"path": "x.md"}'), ToolCall("write", "{}")),
    ("sales",),
    {"out/a.csv": "one,two"},
    tokens=50,
    seconds=2,
)


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (Check(CheckKind.CONTAINS, ("HERE",)), True),
        (Check(CheckKind.CONTAINS, ("HERE",), same_case=True), False),
        (Check(CheckKind.CONTAINS, ("zzz", "here"), any_of=True), True),
        (Check(CheckKind.EXCLUDES, ("here",)), False),
        (Check(CheckKind.MATCHES, (r"\{.*\}",)), True),
        (Check(CheckKind.MATCHES, ("(",)), None),
        (Check(CheckKind.NOT_MATCHES, (r"\d",)), False),
        (Check(CheckKind.NOT_MATCHES, ("zzz", r"\d")), False),
        (Check(CheckKind.NOT_MATCHES, (r"\d", "zzz")), False),
        (Check(CheckKind.NOT_MATCHES, ("zzz", "yyy")), True),
        (Check(CheckKind.FILE_EXISTS, path="out/*.csv"), True),
        (Check(CheckKind.FILE_EXISTS, path="**/*.csv"), True),
        (Check(CheckKind.FILE_ABSENT, path="out/b.csv"), True),
        (Check(CheckKind.FILE_CONTAINS, ("two",), path="out/a.csv"), True),
        (Check(CheckKind.FILE_EXCLUDES, ("two",), path="out/a.csv"), False),
        (Check(CheckKind.TOOL_CALLS, ("read", "write"), ordered=True), True),
        (Check(CheckKind.TOOL_CALLS, ("write", "read"), ordered=True), False),
        (Check(CheckKind.TOOL_CALLS, ("write", "read")), True),
        (Check(CheckKind.TOOL_CALLS, ("read", "write"), ordered=True, exact=True), True),
        (Check(CheckKind.TOOL_CALLS, ("read",), ordered=True, exact=True), False),
        (Check(CheckKind.TOOL_CALLS, ("read",), data=[r"y\.md"]), False),
        (Check(CheckKind.TOOL_CALLS, ("write", "read"), data=[None, r"x\.md"]), True),
        (Check(CheckKind.TOOL_CALLS, ("read", "read"), data=[r"x\.md", r"y\.md"]), False),
        (Check(CheckKind.TOOLS_ABSENT, ("delete",)), True),
        (Check(CheckKind.SKILL_LOADED), True),
        (Check(CheckKind.SKILL_NOT_LOADED, ("Sales",)), False),
        (Check(CheckKind.MAX_TOKENS, limit=49), False),
        (Check(CheckKind.MAX_SECONDS, limit=2), True),
        (Check(CheckKind.MAX_TOOL_CALLS, limit=1), False),
        (Check(CheckKind.COMPLETED), True),
        (Check(CheckKind.EXPRESSION, ("len(output) > 3 and 'here' in output.lower()",)), True),
        (Check(CheckKind.EXPRESSION, ("__import__('os').system('x')",)), None),
        (Check(CheckKind.JSON_SCHEMA, data={"type": "object"}), False),
        (Check(CheckKind.STATEMENT, text="Is kind"), None),
        (Check(CheckKind.UNKNOWN, note="unknown kind"), None),
    ],
)
def test_graders(check, passed):
    assert grade(check, RUN, "sales").passed is passed


def test_a_call_with_other_arguments_is_told_from_no_call():
    check = Check(CheckKind.TOOL_CALLS, ("read",), data=[r"y\.md"])
    assert grade(check, RUN, "").evidence == r"read was not called with y\.md; called: read, write"


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ({"path": "x.md"}, True),
        ({"path": "x.md", "mode": {"lines": [1]}}, True),
        ({"path": "x"}, False),
        ({"mode": {"lines": [3]}}, False),
        ({"other": "x.md"}, False),
        ({}, True),
    ],
)
def test_an_object_of_arguments_is_compared_value_by_value(arguments, passed):
    """Other arguments may be there besides; an object that text merely contains is not enough."""
    calls = (ToolCall("read", '{"path": "x.md", "mode": {"lines": [1, 2], "raw": true}}'),)
    run = Transcript("", calls=calls)
    assert grade(Check(CheckKind.TOOL_CALLS, ("read",), data=[arguments]), run, "").passed is passed
    assert grade(Check(CheckKind.TOOLS_ABSENT, ("read",), data=[arguments]), run, "").passed is not passed


def test_arguments_that_are_not_json_have_no_values():
    run = Transcript("", calls=(ToolCall("read", "path=x.md"),))
    assert grade(Check(CheckKind.TOOL_CALLS, ("read",), data=[{}]), run, "").passed is False


def test_json_in_a_code_block_is_compared():
    run = Transcript('```json\n{"a": [1, 2], "b": 3}\n```')
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "minItems": 2}}}
    assert grade(Check(CheckKind.JSON_SCHEMA, data=schema), run, "").passed
    assert grade(Check(CheckKind.JSON_SUBSET, data={"a": [1]}), run, "").passed
    assert grade(Check(CheckKind.JSON_SUBSET, data={"a": [2]}), run, "").passed is False
    assert grade(Check(CheckKind.JSON_SCHEMA, data={"$ref": "#/x"}), run, "").passed is None


@pytest.mark.parametrize(
    ("schema", "passed"),
    [
        ({"required": ["b"]}, False),
        ({"properties": {"a": {"maxItems": 1}}}, False),
        ({"additionalProperties": False}, False),
        ({"type": "nonsense"}, None),
        ({"$ref": "http://127.0.0.1:9/schema"}, None),
        ({"patternProperties": {"(a+)+$": {"type": "string"}}}, None),
    ],
)
def test_a_schema_is_broken_kept_or_not_judged(schema: dict[str, object], passed: bool | None) -> None:
    judged = grade(Check(CheckKind.JSON_SCHEMA, data=schema), Transcript('{"a": [1, 2]}'), "")
    assert judged.passed is passed


def test_a_judge_is_asked_once_about_all_sentences_and_must_quote_the_answer():
    asked = []

    def ask(question: str) -> str:
        asked.append(question)
        quotes = ["The total  is 7.", "It is 8.", ""]
        return json.dumps([{"number": n, "holds": n != 3, "quote": q} for n, q in enumerate(quotes, 1)])

    sentences = ["Names it", "Names another", "Is rude", "Is long"]
    verdicts = Judge(ask, "m").verdicts(sentences, "p", "The total is 7.")
    assert len(asked) == 1
    assert [holds for holds, _ in verdicts] == [True, None, False, None]
    assert "'The total  is 7.'" in verdicts[0][1]
    assert "quotes what is not in the answer" in verdicts[1][1]


def test_a_replay_has_the_verdicts_of_the_judge(case, program, tmp_path):
    skill = next(iter(case().skills))
    asked = {**CASE, "assertions": ["Is friendly", "Is short"]}
    evals = skill.base_dir / "evals" / "evals.json"
    evals.write_text(json.dumps({"skill_name": "sales", "evals": [asked]}))
    said = json.dumps([{"number": 1, "holds": True, "quote": ""}, {"number": 2, "holds": True, "quote": ""}])
    questions = []
    judge = Judge(lambda question: questions.append(question) or said, "m")
    first = case().run_behaviour(BehaviourRunner(Recordings(tmp_path / "rec"), program, judge=judge))
    silent = Judge(lambda question: "")
    again = case().run_behaviour(BehaviourRunner(Recordings(tmp_path / "rec", replay=True), judge=silent))
    assert len(questions) == 2, "one question for the run with the skill, one for that without"
    assert first.results[0].outcome is CaseOutcome.PASSED
    assert again.results == first.results
    assert again.metrics["behaviour"]["judge"] == {"model": "m"}


def test_intervals_are_wide_for_few_cases_however_often_they_are_run():
    assert pass_rate([]) is None
    assert pass_rate([(1, 1)]).interval == (0.2065, 1.0)
    assert pass_rate([(50, 50)]).interval == pass_rate([(1, 1)]).interval
    few = difference(pass_rate([(1, 1)] * 2), pass_rate([(1, 1), (0, 1)]))
    many = difference(pass_rate([(1, 1)] * 90 + [(0, 1)] * 10), pass_rate([(1, 1), (0, 1)] * 50))
    assert not few["more_than_chance"]
    assert many["more_than_chance"]


def test_runs_of_a_case_count_as_far_as_they_differ():
    all_or_nothing = pass_rate([(10, 10), (0, 10)] * 5)
    by_chance = pass_rate([(5, 10)] * 4 + [(4, 10), (6, 10)] * 3)
    assert (all_or_nothing.share, by_chance.share) == (0.5, 0.5)
    assert all_or_nothing.size == 10
    assert by_chance.size == 100
    narrow, wide = by_chance.interval, all_or_nothing.interval
    assert wide[0] < narrow[0] < 0.5 < narrow[1] < wide[1]


def test_a_recording_of_another_prompt_is_not_replayed(tmp_path):
    key = RunKey("sales", "evals.json", "may", "with", 1, "program", "", "sha256:1", "sha256:2")
    recordings = Recordings(tmp_path)
    recordings.keep(key, RUN)
    assert Recordings(tmp_path, replay=True).find(key) == RUN
    other = dataclasses.replace(key, prompt_digest="sha256:3")
    with pytest.raises(StaleRecordingError, match="another prompt"):
        Recordings(tmp_path, replay=True).find(other)
    assert Recordings(tmp_path, resume=True).find(other) is None
    assert not Recordings(tmp_path, resume=True).counts(other)


def test_a_recording_holds_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", 'pä"ss-word-123')
    key = RunKey("sales", "evals.json", "may", "with", 1, "program", "", "sha256:1", "sha256:2")
    Recordings(tmp_path).keep(key, Transcript('It says pä"ss-word-123.'))
    [file] = tmp_path.glob("*.json")
    assert "word-123" not in file.read_text()
    assert Recordings(tmp_path, replay=True).find(key).answer == "It says [SOME_TOKEN]."


def test_the_spread_of_cases_is_estimated_for_all_and_not_only_for_these():
    """With n in place of n - 1 a share of few cases would be worth more runs than it is."""
    cases = [(4, 4), (0, 4), (3, 4), (1, 4), (4, 4), (2, 4)]
    rate = pass_rate(cases)
    spread = sum((passed - rate.share * runs) ** 2 for passed, runs in cases)
    assert rate.size == pytest.approx(rate.share * (1 - rate.share) * 24**2 / (spread * 6 / 5))


SLOW_PATTERN = "(a+)+$"


@pytest.mark.parametrize(
    ("pattern", "passed"),
    [
        (SLOW_PATTERN, False),
        (r"(?=a)a", None),
        (r"(a)\1", None),
        ("(", None),
        ("a" * 1001, None),
        ("a+", True),
    ],
)
def test_patterns_of_others_run_in_linear_time_or_are_not_judged(pattern, passed):
    answer = json.dumps({"text": "a" * 5_000 + "!"})
    schema = {"properties": {"text": {"pattern": pattern}}}
    judged = grade(Check(CheckKind.JSON_SCHEMA, data=schema), Transcript(answer), "sales")
    assert judged.passed is passed
    plain = Transcript("a" * 5_000 + "!")
    assert grade(Check(CheckKind.MATCHES, (pattern,)), plain, "sales").passed is passed


def test_without_re2_no_pattern_is_judged(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    assert grade(Check(CheckKind.MATCHES, ("a",)), Transcript("a"), "sales").passed is None


def test_fences_are_found_by_lines():
    fence = "```"
    check = Check(CheckKind.JSON_SUBSET, data={"a": 1})
    text = f"Here:\n{fence}json\n" + '{"a": 1}' + f"\n{fence}\nand {fence} more"
    assert grade(check, Transcript(text), "sales").passed
    assert grade(check, Transcript(f"{fence}json\n" * 100_000), "sales").passed is False
