"""Every format of cases becomes the same model, and what is none says why."""

import json
from pathlib import Path

import pytest

from skillkit.evaluation import Suite, Unreadable, read_cases_file
from skillkit.evaluation.cases import Check, CheckKind, Routing

SHARED = (folder / "shared" / "data" / "formats" for folder in Path(__file__).resolve().parents)
SAMPLES = next((folder for folder in SHARED if folder.is_dir()), None)
NO_CASES = ("results of an evaluation", "describes a skill", "start commands", "configures")


def written(tmp_path, content, name="cases.json"):
    file = tmp_path / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


TRIGGERS = {
    "official": [{"query": "a", "should_trigger": True}, {"query": "b", "should_trigger": False}],
    "prompts": {"cases": [{"prompt": "a", "should_trigger": True}, {"prompt": "b", "should_trigger": False}]},
    "lists": {"should_trigger": ["a"], "should_not_trigger": ["b"]},
    "humps": {"shouldTrigger": ["a"], "shouldNotTrigger": ["b"]},
    "splits": {
        "should_trigger": {"train": ["a"], "val": []},
        "should_not_trigger": {"train": [], "val": ["b"]},
    },
    "of a skill": {"me": {"should_trigger": ["a"], "should_not_trigger": ["b"]}},
    "types": {
        "tests": [{"query": "a", "type": "should_trigger"}, {"query": "b", "type": "should_not_trigger"}]
    },
    "short": {"queries": [{"q": "a", "should": True}, {"q": "b", "should": False}]},
    "waza": {"should_trigger_prompts": [{"prompt": "a"}], "should_not_trigger_prompts": [{"prompt": "b"}]},
    "names": [{"id": "1", "prompt": "a", "expected_skill": "me"}, {"prompt": "b", "should_trigger": False}],
}


@pytest.mark.parametrize("shape", TRIGGERS)
def test_every_spelling_of_a_trigger_file_means_the_same(tmp_path, shape):
    suite = read_cases_file(written(tmp_path, TRIGGERS[shape]), "me")
    assert isinstance(suite, Suite), suite
    assert [(case.prompts, case.routing) for case in suite.cases] == [
        (("a",), Routing(("me",))),
        (("b",), Routing((), ("me",))),
    ]


def test_requests_under_the_names_of_several_skills(tmp_path):
    lists = {"x": {"should_trigger": ["a"]}, "y": {"should_trigger": ["b"], "should_not_trigger": ["a"]}}
    suite = read_cases_file(written(tmp_path, lists), "me")
    assert [(case.prompts[0], case.skill, case.routing) for case in suite.cases] == [
        ("a", "x", Routing(("x",))),
        ("b", "y", Routing(("y",))),
        ("a", "y", Routing((), ("y",))),
    ]


def test_evaluations_under_that_name(tmp_path):
    suite = read_cases_file(written(tmp_path, {"evaluations": [{"id": "E1", "prompt": "a"}]}), "me")
    assert [case.prompts for case in suite.cases] == [("a",)]


def test_lines_with_the_names_of_skills(tmp_path):
    lines = '{"query": "a", "relevant": ["x/image"]}\n\n{"query": "b", "expected_skill": ""}\n'
    suite = read_cases_file(written(tmp_path, "\ufeff" + lines, "queries.jsonl"))
    assert isinstance(suite, Suite)
    assert [case.routing for case in suite.cases] == [Routing(("x/image",)), Routing()]


def test_a_request_for_none_of_the_skills_that_others_in_its_file_name(tmp_path):
    cases = [
        {"query": "a", "should_trigger": True, "expect_skill": "x"},
        {"query": "b", "should_trigger": False},
    ]
    suite = read_cases_file(written(tmp_path, {"evals": cases}))
    assert [case.routing for case in suite.cases] == [Routing(("x",)), Routing((), ())]


def test_the_name_of_a_skill_in_the_place_of_a_verdict(tmp_path):
    wanted = {"a": "peer-review", "b": "none", "c": None}
    cases = [{"query": query, "should_trigger": value} for query, value in wanted.items()]
    suite = read_cases_file(written(tmp_path, cases))
    assert [case.routing for case in suite.cases] == [
        Routing(("peer-review",)),
        Routing((), ()),
        Routing((), ()),
    ]


@pytest.mark.parametrize(
    ("document", "routings"),
    [
        (
            [{"prompt": "a", "expectSkill": "lp-plan", "mustNotInvoke": ["lp-go"]}],
            [Routing(("lp-plan",), ("lp-go",))],
        ),
        ([{"prompt": "a", "expected-skill": "none"}], [Routing((), ())]),
        ([{"prompt": "a", "expectedSkill": "x", "unexpectedSkills": ["y"]}], [Routing(("x",), ("y",))]),
        (
            {"skills": [{"name": "x", "positive": ["a"], "negative": [{"prompt": "b", "route": "none"}]}]},
            [Routing(("x",)), Routing((), ("x",))],
        ),
    ],
)
def test_libraries_that_name_the_skill_of_each_request(tmp_path, document, routings):
    assert [case.routing for case in read_cases_file(written(tmp_path, document)).cases] == routings


@pytest.mark.parametrize(
    ("item", "routing"),
    [
        ({"expect_skill": "map", "route": "not blueprint"}, Routing(("map",))),
        ({"expect_skill": None, "reject_skills": ["add-test", "x-y"]}, Routing((), ("add-test", "x-y"))),
        ({"expect_skills": ["a", "b-c"], "forbid_skills": ["d"]}, Routing(("a", "b-c"), ("d",))),
        ({"expectedSkills": ["a"], "forbiddenSkills": ["b"]}, Routing(("a",), ("b",))),
        ({"expected_any": [], "expected_top": None, "forbidden_skills": ["b-c"]}, Routing((), ("b-c",))),
        ({"expected_route": "no_route", "must_not_route": ["b"]}, Routing((), ("b",))),
        ({"lead_skill": "a", "near_miss_skills": ["b"]}, Routing(("a",), ("b",))),
        ({"gold": "git/commit", "near_miss_skill": "git/pr"}, Routing(("git/commit",), ("git/pr",))),
        ({"expected_skill": "a", "must_not_select": ["b"], "type": "negative"}, Routing(("a",), ("b",))),
        ({"skill": "a", "expect": "do-not-route"}, Routing((), ("a",))),
        ({"skill": "a", "expected": "invoke"}, Routing(("a",))),
        ({"skill": "a", "expected_activation": False}, Routing((), ("a",))),
        ({"expected_output": "a-b"}, None),
        ({"expected": "b-c"}, None),
        ({"expected": "Micro"}, None),
        ({"expected": "A table of totals"}, None),
    ],
)  # fmt: skip
def test_public_spellings_of_which_skill_a_request_is_for(tmp_path, item, routing):
    other = {key: "z" if value is None else value for key, value in item.items()}
    cases = [{"prompt": "a", **item}, {"prompt": "b", **other}]
    first, _ = read_cases_file(written(tmp_path, {"cases": cases})).cases
    assert first.routing == routing


@pytest.mark.parametrize(
    "skills",
    [
        {"x": {"positive": ["a"], "negative": ["b"]}},
        {"x": [{"query": "a", "should_trigger": True}, {"query": "b", "should_trigger": False}]},
        [
            {
                "skill": "x",
                "cases": [{"prompt": "a", "expect": "invoke"}, {"prompt": "b", "expect": "no-route"}],
            }
        ],
    ],
)
def test_requests_under_the_name_of_each_skill(tmp_path, skills):
    suite = read_cases_file(written(tmp_path, {"version": 1, "skills": skills}))
    assert [case.routing for case in suite.cases] == [Routing(("x",)), Routing((), ("x",))]


def test_a_list_called_prompts_holds_cases_and_no_conversation(tmp_path):
    prompts = [{"prompt": "a", "expect_skill": "x-y"}, {"prompt": "b", "expect_skill": "z"}]
    suite = read_cases_file(written(tmp_path, {"prompts": prompts}))
    assert [case.routing for case in suite.cases] == [Routing(("x-y",)), Routing(("z",))]


def test_lines_with_comments(tmp_path):
    lines = '// what is asked\n{"prompt": "a", "gold": "x"}\n# and more\n{"prompt": "b", "gold": "y"}\n'
    suite = read_cases_file(written(tmp_path, lines, "routing.jsonl"))
    assert [case.routing for case in suite.cases] == [Routing(("x",)), Routing(("y",))]


def test_what_is_expected_of_a_skill_that_is_known_is_not_another_one(tmp_path):
    suite = read_cases_file(written(tmp_path, [{"prompt": "a", "expected": "needs-review"}]), "me")
    assert suite.cases[0].routing == Routing(("me",), implied=True)


@pytest.mark.parametrize("key", ["exit_code", "expected_exit", "expected_exit_code"])
def test_a_script_that_should_fail_in_every_spelling(tmp_path, key):
    test = {"id": "usage", "script": "sum.py", key: 2, "stdout_contains": ["usage"], "stderr_contains": ["x"]}
    suite = read_cases_file(written(tmp_path, {"tests": [test]}))
    (case,) = suite.cases
    assert (case.script.exit_code, case.script.stdout) == (2, ("usage",))
    assert suite.notes == ("stderr_contains is not judged",)


def test_the_official_form_with_assertions_of_every_kind(tmp_path):
    item = {
        "id": 7,
        "prompt": "Summarise sales.csv",
        "expected_output": "A table",
        "files": ["evals/files/sales.csv"],
        "assertions": [
            'The output contains "Total"',
            "Names the best month",
            {"type": "content_includes_any", "value": ["a", "b"]},
            {"type": "tool_use", "value": "Read"},
            {"type": "file_exists", "path": "out.csv"},
            {"type": "contains", "description": "Says which month was best"},
            {"type": "martian", "value": "x"},
        ],
        "expectations": ["Is short"],
    }
    suite = read_cases_file(written(tmp_path, {"skill_name": "sales", "evals": [item]}))
    assert isinstance(suite, Suite)
    (case,) = suite.cases
    assert (case.id, case.skill, case.expected_output) == ("7", "sales", "A table")
    assert [(file.path, file.source) for file in case.files] == [("sales.csv", "evals/files/sales.csv")]
    assert case.routing == Routing(("sales",), implied=True)
    assert [check.kind for check in case.checks] == [
        CheckKind.CONTAINS,
        CheckKind.STATEMENT,
        CheckKind.CONTAINS,
        CheckKind.TOOL_CALLS,
        CheckKind.FILE_EXISTS,
        CheckKind.STATEMENT,
        CheckKind.UNKNOWN,
        CheckKind.STATEMENT,
    ]
    assert case.checks[0].compiled
    assert case.checks[2].any_of


@pytest.mark.parametrize(
    ("assertion", "ordered", "exact", "patterns"),
    [
        ({"type": "tool_calls", "value": ["Read", "Read"]}, False, False, None),
        ({"type": "tool_calls", "value": ["Read", "Read"], "ordered": True}, True, False, None),
        (
            {"type": "tool_calls", "required": [{"name": "Read", "pattern": "a"}, {"name": "Read"}]},
            False,
            False,
            ["a", None],
        ),
        (
            {
                "type": "tool_constraint",
                "config": {"expect_tools": [{"tool": "Read", "command_pattern": "a"}, "Read"]},
            },
            False,
            False,
            ["a", None],
        ),
        (
            {"type": "action_sequence", "config": {"expected_actions": ["Read", "Read"]}},
            True,
            False,
            None,
        ),
        (
            {
                "type": "action_sequence",
                "config": {"matching_mode": "exact_match", "expected_actions": ["Read", "Read"]},
            },
            True,
            True,
            None,
        ),
    ],
)
def test_tool_calls_keep_their_order_and_each_its_arguments(tmp_path, assertion, ordered, exact, patterns):
    evaluation = {"skill_name": "sales", "evals": [{"id": 1, "prompt": "a", "assertions": [assertion]}]}
    (case,) = read_cases_file(written(tmp_path, evaluation)).cases
    assert case.checks == (
        Check(CheckKind.TOOL_CALLS, ("Read", "Read"), ordered=ordered, exact=exact, data=patterns),
    )


@pytest.mark.parametrize(
    ("key", "setup", "note"),
    [
        ("scenarios", "setup", "scenario 1: its setup commands are not run"),
        ("stimuli", "environment", "stimulus 1: the commands of its environment are not run"),
    ],
)
def test_suites_of_other_harnesses_are_lists_of_cases(tmp_path, key, setup, note):
    item = {
        "name": "First",
        "turns": ["Do it", {"prompt": "Again"}],
        setup: {"files": [{"path": "in/a.py", "source": "a.py"}, {"path": "b/c.md"}], "commands": ["make"]},
        "expect_tools": ["Read"],
        "expected_behavior": ["It is done"],
        "timeout": "2m",
    }
    document = {key: [item, {"name": "Empty"}], "defaults": {"timeout": "1m"}}
    suite = read_cases_file(written(tmp_path, document), "me")
    (case,) = suite.cases
    assert (suite.format, case.id, case.prompts, case.seconds) == (key, "First", ("Do it", "Again"), 120.0)
    assert [(file.path, file.source) for file in case.files] == [("in/a.py", "a.py"), ("b/c.md", "b/c.md")]
    assert {check.kind: check.values or check.text for check in case.checks} == {
        CheckKind.STATEMENT: "It is done",
        CheckKind.TOOL_CALLS: ("Read",),
    }
    assert case.routing == Routing(("me",), implied=True)
    assert suite.notes == (note, f"{note.split()[0]} 2 has no prompt")


def test_a_task_with_criteria_belongs_to_the_skill_that_they_load(tmp_path):
    criteria = [
        {"type": "skill_invoked", "value": "sales"},
        {"type": "file", "config": {"must_exist": ["x"]}},
    ]
    task = {"initial_prompt": "Do it", "success_criteria": criteria, "pre_run": ["make"]}
    suite = read_cases_file(written(tmp_path, task, "first.json"), "me")
    (case,) = suite.cases
    assert (case.id, case.skill, case.routing) == ("first", "sales", Routing(("sales",)))
    assert case.checks[1] == Check(CheckKind.FILE_EXISTS, path="x")
    assert suite.notes == ("its pre_run commands are not run",)


def test_a_waza_suite_reads_its_tasks_and_its_triggers(tmp_path):
    (tmp_path / "tasks").mkdir()
    written(
        tmp_path / "tasks",
        "id: t1\nname: First\ninputs:\n  prompt: Explain\n"
        "  files: [{path: a.py, content: 'x = 1'}, {content: y}]\n"
        "expected:\n  output_contains: [loop]\n  behavior: {max_tool_calls: 3}\n",
        "one.yaml",
    )
    written(
        tmp_path, "skill: explainer\nshould_trigger_prompts: [{prompt: Explain this}]\n", "trigger_tests.yaml"
    )
    suite = read_cases_file(
        written(
            tmp_path,
            "name: e\nskill: explainer\nversion: '1'\nmetrics: []\n"
            "config: {trials_per_task: 3, timeout_seconds: 9}\n"
            "graders: [{type: text, name: t, config: {regex_match: ['x+']}}]\n"
            "tasks: ['tasks/*.yaml', 'no/*.yaml']\n",
            "eval.yaml",
        )
    )
    assert isinstance(suite, Suite)
    first, second = suite.cases
    assert (first.skill, first.runs, first.seconds) == ("explainer", 3, 9.0)
    assert [(file.path, file.content) for file in first.files] == [("a.py", "x = 1"), ("input.txt", "y")]
    assert [check.kind for check in first.checks] == [
        CheckKind.CONTAINS,
        CheckKind.MAX_TOOL_CALLS,
        CheckKind.MATCHES,
    ]
    assert second.routing == Routing(("explainer",))
    assert suite.notes == ("no file matches tasks 'no/*.yaml'",)
    assert {part.name for part in suite.parts} == {"one.yaml", "trigger_tests.yaml"}


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        ("[{", "cases.json", "not well formed"),
        ("a: &x 1\nb: *x\n", "eval.yaml", "aliases"),
        ([{"query_id": 1, "selected": "x"}], "evals.json", "results of an evaluation"),
        ([{"pattern": ".*", "run": "x"}], "triggers.json", "patterns that start commands"),
        ({"name": "x", "description": "y"}, "trigger.json", "describes a skill"),
        ({"cases": [{"id": 1}]}, "evals.json", "items without a request"),
        ("[]", "evals.json", "holds no cases"),
    ],
)
def test_a_file_without_cases_says_what_it_is(tmp_path, content, name, reason):
    found = read_cases_file(written(tmp_path, content, name))
    assert isinstance(found, Unreadable)
    assert reason in found.reason


@pytest.mark.skipif(SAMPLES is None, reason="the sample files of other publishers are not here")
def test_published_files_are_read_unmodified():
    files = [
        file
        for folder in ("evals.json", "trigger-evals", "waza")
        for file in sorted((SAMPLES / folder).iterdir())
        if file.name != "index.jsonl"
    ]
    refused = [found for file in files if isinstance(found := read_cases_file(file), Unreadable)]
    broken = [found for found in refused if not any(reason in found.reason for reason in NO_CASES)]
    assert len(broken) <= 0.05 * len(files), broken


SINGLE = {
    "one case a file": ({"id": "x", "scenario": {"user_query": "Do it"}}, ["Do it"]),
    "expects": ({"skills": ["me"], "expects": [{"query": "Do it", "checks": ["It is done"]}]}, ["Do it"]),
    "tasks with prompts": ({"skill": "me", "tasks": [{"id": "t", "prompt": "Do it"}]}, ["Do it"]),
}


@pytest.mark.parametrize("shape", SINGLE)
def test_other_shapes_that_were_found_in_public(tmp_path, shape):
    document, prompts = SINGLE[shape]
    suite = read_cases_file(written(tmp_path, document), "me")
    assert isinstance(suite, Suite), suite
    assert [case.prompts[0] for case in suite.cases] == prompts
    assert {case.skill for case in suite.cases} == {"me"}


def test_evaluations_with_what_is_forbidden(tmp_path):
    content = {"evaluations": [{"prompt": "Fix it", "assertions": ["It is fixed"], "forbidden": ["A push"]}]}
    [case] = read_cases_file(written(tmp_path, content), "fixer").cases
    assert [check.text for check in case.checks] == ["It is fixed", "The answer avoids this: A push"]


def test_a_scenario_in_words_is_the_request(tmp_path):
    [case] = read_cases_file(
        written(tmp_path, [{"id": "one", "scenario": "Codes have 6 to 10 letters."}])
    ).cases
    assert case.prompts == ("Codes have 6 to 10 letters.",)
