"""Every payload and code of the script contract, each from a real script."""

import json
import shutil

import pytest

from skillkit.disclosure.tools import Argument
from skillkit.scripts import Grants, Limits

HELLO = """
    import argparse, json
    parser = argparse.ArgumentParser(prog="hello", description="Greets people.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    greeting = "Hello " + ", ".join(options.names or ["world"])
    print(json.dumps({"greeting": greeting}) if options.json else greeting)
"""


def test_a_script_that_prints_json_answers_with_the_parsed_result(workshop, backend):
    workshop.skill(hello_py=HELLO)
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    answer = tools.script_run("demo", "hello", ["Ada"])
    assert answer["success"] is True, answer
    assert answer["result"] == {"greeting": "Hello Ada"}
    assert answer["message"] == "Executed hello script"
    meta = answer["meta"]
    assert (meta["backend"], meta["exit_code"], meta["truncated"]) == (backend, 0, False)
    assert meta["stdout_bytes"] == len('{"greeting": "Hello Ada"}\n')
    assert meta["stderr_bytes"] == 0
    assert meta["duration_ms"] > 0


async def test_an_argument_of_the_tools_is_renamed_in_one_place(workshop, monkeypatch):
    for name in ("SKILL", "SCRIPT", "ARGS"):
        monkeypatch.setattr(Argument, name, f"of_{name.lower()}")
    workshop.skill(hello_py=HELLO)
    tools = {tool.name: tool for tool in workshop.tools().tools()}
    call = {"of_skill": "demo", "of_script": "hello"}
    answer = await tools["script_run"].call({**call, "of_args": ["Ada"]})
    assert answer.data["result"] == {"greeting": "Hello Ada"}
    assert "Greets people." in str((await tools["script_help"].call(call)).data)
    assert "demo" in (await tools["script_list"].call({"of_skill": "demo"})).data["result"]


def test_plain_text_is_the_result_when_json_is_not_asked_for(workshop):
    workshop.skill(hello_py=HELLO)
    answer = workshop.tools().script_run("demo", "hello", ["Ada"], json=False)
    assert answer["result"] == "Hello Ada\n"


async def test_the_async_twins_answer_the_same(workshop):
    workshop.skill(hello_py=HELLO)
    tools = workshop.tools()
    assert await tools.ascript_list() == tools.script_list()
    assert (await tools.ascript_run("demo", "hello"))["result"] == {"greeting": "Hello world"}
    helped = await tools.ascript_help("demo", "hello")
    assert helped["result"]["usage"] == "usage: hello [-h] [--json] [names ...]"
    assert tools.script_help("demo", "hello") == helped


async def test_the_neutral_tools_wrap_the_same_calls(workshop):
    workshop.skill(hello_py=HELLO)
    tools = {tool.name: tool for tool in workshop.tools().tools()}
    assert list(tools) == ["script_list", "script_help", "script_run"]
    listed = (await tools["script_list"].call({})).data
    assert [script["name"] for script in listed["result"]["demo"]] == ["hello"]
    helped = (await tools["script_help"].call({"skill_name": "demo", "script_name": "hello"})).data
    assert "Greets people." in helped["result"]["help_text"]
    run = {"skill_name": "demo", "script_name": "hello", "args": ["A", "B"]}
    ran = (await tools["script_run"].call(run)).data
    assert ran["result"] == {"greeting": "Hello A, B"}
    for tool in tools.values():
        json.dumps(tool.parameters)
        assert (await tool.call({"skill_name": 7, "unknown": True})).data["error"] == "invalid_arguments"
        assert (await tool.handler(skill_id="../x", unknown=True))["error"] == "invalid_name"


@pytest.mark.parametrize(
    ("script", "suffix", "program"),
    [
        ("print(__import__('json').dumps(__import__('sys').argv[1:]))", "py", "python3"),
        ('printf \'["%s"]\' "$1"', "sh", "sh"),
        ("console.log(JSON.stringify(process.argv.slice(2)))", "js", "node"),
        ("console.log(JSON.stringify(process.argv.slice(2)))", "mjs", "node"),
        ("require 'json'; puts ARGV.to_json", "rb", "ruby"),
        ("use JSON::PP; print encode_json(\\@ARGV);", "pl", "perl"),
    ],
)
def test_each_kind_of_script_runs_where_its_interpreter_is(workshop, script, suffix, program):
    workshop.skill(**{f"tell_{suffix}": script})
    answer = workshop.tools().script_run("demo", "tell")
    if shutil.which(program) is None:
        assert answer["error"] == "dependency_failed"
        assert program in answer["message"]
    else:
        assert answer["result"] == [""] if suffix == "sh" else answer["result"] == [], answer


def test_typescript_runs_where_a_runner_exists_and_says_what_is_missing_where_not(workshop):
    workshop.skill(tell_ts="const out: string[] = process.argv.slice(2); console.log(JSON.stringify(out))")
    answer = workshop.tools().script_run("demo", "tell")
    if answer["success"]:
        assert answer["result"] == []
    else:
        assert answer["error"] == "dependency_failed"
        assert "bun, deno, tsx or Node.js" in answer["message"]


@pytest.mark.parametrize(
    ("first_line", "runs"),
    [
        ("#!/usr/bin/env -S uv run --script", True),
        ("#!/usr/bin/env python3", True),
        ("#!/usr/bin/python3 -u", True),
        ("#!/opt/nowhere/bin/python3.9", True),
        ("#!/usr/bin/env no-such-interpreter", False),
    ],
)
def test_the_first_line_decides_before_the_suffix(workshop, first_line, runs):
    workshop.skill(tell_sh=f"{first_line}\nimport json; print(json.dumps('python'))\n")
    answer = workshop.tools().script_run("demo", "tell")
    assert answer.get("result") == ("python" if runs else None), answer
    if not runs:
        assert answer["error"] == "dependency_failed"
        assert "no-such-interpreter" in answer["message"]


def test_a_script_without_suffix_runs_by_its_first_line(workshop):
    base = workshop.skill()
    (base / "scripts" / "tell").write_text("#!/bin/sh\necho '\"shell\"'\n")
    assert workshop.tools().script_list("demo")["result"] == {"demo": []}
    (base / "scripts" / "tell").chmod(0o755)
    assert workshop.tools().script_run("demo", "tell")["result"] == "shell"


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (None, ["--json"]),
        (["a"], ["a", "--json"]),
        (["a", "--", "b"], ["a", "--json", "--", "b"]),
        (["--json", "a"], ["--json", "a"]),
        (["--", "--json"], ["--json", "--", "--json"]),
        (["; rm -rf $HOME", "$(id)"], ["; rm -rf $HOME", "$(id)", "--json"]),
    ],
)
def test_json_is_asked_for_before_the_end_of_options(workshop, given, passed):
    workshop.skill(tell_py="import json, sys; print(json.dumps(sys.argv[1:]))  # has --json")
    assert workshop.tools().script_run("demo", "tell", given)["result"] == passed


PLAIN = """
    import argparse
    argparse.ArgumentParser().parse_args()
    print("7 files")
"""


async def test_a_script_without_json_is_not_given_it(workshop):
    workshop.skill(count_py=PLAIN)
    tools = workshop.tools()
    answer = tools.script_run("demo", "count")
    assert answer["error"] == "parse_error"
    assert answer["message"] == "Expected JSON output, got: 7 files"
    assert tools.script_run("demo", "count", json=False)["result"] == "7 files\n"
    (run,) = (tool for tool in tools.tools() if tool.name == "script_run")
    call = {"skill_id": "demo", "script_name": "count"}
    assert (await run.call(call)).data["result"] == "7 files\n", "a model need not say what it cannot know"
    assert (await run.call({**call, "json": True})).data["error"] == "parse_error"


async def test_a_model_gets_json_where_a_script_or_its_own_module_has_the_option(workshop):
    base = workshop.skill(
        direct_py="import sys; print({True: '[1]', False: 'one'}['--json' in sys.argv])",
        through_py="from shared.options import show\nshow()",
        beside_py="import sys; print(sys.argv[1:])",
    )
    (base / "scripts" / "shared").mkdir()
    (base / "scripts" / "shared" / "options.py").write_text(
        "import sys\ndef show(): print({True: '[2]', False: 'two'}['--json' in sys.argv])\n"
    )
    tools = workshop.tools()
    (run,) = (tool for tool in tools.tools() if tool.name == "script_run")
    got = {
        name: (await run.call({"skill_id": "demo", "script_name": name})).data["result"]
        for name in ("direct", "through", "beside")
    }
    assert got == {"direct": [1], "through": [2], "beside": "[]\n"}
    assert (await run.call({"skill_id": "demo", "script_name": "direct", "json": False})).data["result"] == (
        "one\n"
    )


@pytest.mark.parametrize(
    ("skill", "script", "code", "message"),
    [
        ("unknown-skill", "hello", "not_found", "Skill 'unknown-skill' not loaded or installed"),
        ("demo", "xyz", "not_found", "Script 'xyz' not found in skill 'demo', which has: hello"),
        ("../etc", "hello", "invalid_name", "Invalid skill name: '../etc'"),
        ("demo", "../../etc/passwd", "invalid_name", "Invalid script name: '../../etc/passwd'"),
        ("", "hello", "invalid_name", "Invalid skill name: ''"),
        ("demo", ".hidden", "invalid_name", "Invalid script name: '.hidden'"),
        ("demo", "a\x1b[2Jb", "invalid_name", "Invalid script name: 'a\\x1b[2Jb'"),
    ],
)
def test_names_that_lead_nowhere(workshop, skill, script, code, message):
    workshop.skill(hello_py=HELLO)
    tools = workshop.tools()
    for answer in (tools.script_run(skill, script), tools.script_help(skill, script)):
        assert answer == {"success": False, "error": code, "message": message}


def test_a_list_of_one_skill_names_its_scripts_in_words_and_does_not_end_in_a_flood(workshop):
    workshop.skill("none")
    assert workshop.tools().script_list("none")["message"] == "Found 0 scripts across 1 skill"
    missed = workshop.tools().script_run("none", "x")["message"]
    assert missed == "Script 'x' not found in skill 'none', which has: no scripts"
    workshop.skill("many", **{f"s{number:02}_py": "" for number in range(22)})
    message = workshop.tools().script_list("many")["message"]
    assert message.startswith("Found 22 scripts across 1 skill: s00, s01, ")
    assert message.endswith(", s19 and 2 more")


@pytest.mark.parametrize("spelling", ["status", "status.py", "Status", "STATUS.PY"])
def test_names_are_one_in_any_case_and_with_or_without_suffix(workshop, spelling):
    workshop.skill("kalshi-markets", status_py="print(1)")
    assert workshop.tools().script_run("Kalshi_Markets", spelling)["result"] == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["x"] * 150, "Too many arguments: 150 (max 100)"),
        (["x" * 5000], "Arguments too large: 5000 bytes (max 4096)"),
        (["ö" * 2049], "Arguments too large: 4098 bytes (max 4096)"),
    ],
)
def test_too_many_or_too_long_arguments(workshop, args, message):
    workshop.skill(hello_py=HELLO)
    answer = workshop.tools().script_run("demo", "hello", args)
    assert answer == {"success": False, "error": "args_too_large", "message": message}


def test_a_single_text_and_numbers_are_arguments_too(workshop):
    workshop.skill(tell_py="import json, sys; print(json.dumps(sys.argv[1:]))")
    tools = workshop.tools()
    assert tools.script_run("demo", "tell", ["a", 7, 1.5])["result"] == ["a", "7", "1.5"]
    assert tools.script_run("demo", "tell", "one")["result"] == ["one"]


@pytest.mark.parametrize("args", ["a\0b", ["a\0b"], "\ud800", ["\ud800"], 7, b"x", [b"x"], {"a": 1}, [None]])
def test_arguments_that_no_system_can_pass_are_an_answer(workshop, args):
    workshop.skill(tell_py="print(1)")
    answer = workshop.tools().script_run("demo", "tell", args)
    assert answer["error"] == "invalid_arguments", answer


@pytest.mark.parametrize("as_json", [True, False])
def test_a_failing_script_may_say_why_on_stdout(workshop, as_json):
    workshop.skill(fail_py="import json, sys; print(json.dumps({'error': 'no such market'})); sys.exit(1)")
    answer = workshop.tools().script_run("demo", "fail", json=as_json)
    assert answer["message"] == 'Script failed with exit code 1\nstdout: {"error": "no such market"}'
    assert answer.get("result") == ({"error": "no such market"} if as_json else None)


@pytest.mark.parametrize("args", [["x"] * 100, ["x" * 4096]])
def test_as_many_arguments_as_are_allowed(workshop, args):
    workshop.skill(tell_py="import json, sys; print(json.dumps(len(''.join(sys.argv[1:]))))")
    assert workshop.tools().script_run("demo", "tell", args)["result"] == len("".join(args))


def test_what_a_successful_script_says_on_stderr_stays_out_of_the_answer(workshop):
    workshop.skill(tell_py="import sys; sys.stderr.write('only for the log'); print(1)")
    answer = workshop.tools().script_run("demo", "tell")
    assert (answer["result"], answer["meta"]["stderr_bytes"]) == (1, 16)
    assert "only for the log" not in json.dumps(answer)


def test_a_failing_script_says_its_exit_code_and_the_end_of_stderr(workshop):
    workshop.skill(fail_py="import sys; sys.stderr.write('x' * 1000 + 'the end'); sys.exit(3)")
    answer = workshop.tools().script_run("demo", "fail")
    assert answer["error"] == "execution_failed"
    assert answer["message"] == "Script failed with exit code 3\nstderr: " + "x" * 493 + "the end"
    assert answer["meta"]["exit_code"] == 3
    assert answer["meta"]["stderr_bytes"] == 1007


def test_a_script_killed_by_a_signal_says_so_as_a_shell_does(workshop, backend):
    workshop.skill(die_py="import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    assert tools.script_run("demo", "die")["meta"]["exit_code"] == 139


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("'not json'", "not json"),
        ("''", ""),
        ("'NaN'", "NaN"),
        ("'{} {}'", "{} {}"),
        ("'[' * 100000", "[" * 200),
        ("'[' * 300 + ']' * 300", "[" * 200),
        ("'\\x1b[31mred\\x1b[0m'", "red"),
    ],
)
def test_output_that_is_not_json(workshop, printed, shown):
    workshop.skill(tell_py=f"import sys; print({printed}, end=''); print('why', file=sys.stderr)")
    answer = workshop.tools().script_run("demo", "tell")
    assert answer["error"] == "parse_error"
    assert answer["message"] == f"Expected JSON output, got: {shown}\nstderr: why"


def test_json_that_no_encoder_accepts_later_is_made_encodable(workshop):
    workshop.skill(tell_py=r"""print('{"a": ["\\ud800", {"\\udfff": 1}]}')""")
    answer = workshop.tools().script_run("demo", "tell")
    assert answer["result"] == {"a": ["\ufffd", {"\ufffd": 1}]}
    json.dumps(answer, ensure_ascii=False).encode()


def test_a_timeout_says_how_long_and_what_was_last_on_stderr(workshop, backend, time_is_up):
    workshop.skill(slow_sh="trap '' TERM\necho last words >&2\nsleep 600")
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend, limits=Limits(timeout=62.5))
    time_is_up()
    answer = tools.script_run("demo", "slow")
    assert answer["error"] == "timeout"
    assert answer["message"] == "Script timed out after 62.5s\nstderr: last words"
    assert answer["meta"]["exit_code"] is None


def test_a_skill_and_a_call_can_shorten_the_time_and_only_the_user_can_lengthen_it(workshop):
    header = "permissions:\n  timeout: {}"
    workshop.skill("short", header.format(5), wait_py="print(1)")
    workshop.skill("long", header.format(500), wait_py="print(1)")

    def granted(tools, skill, **options):
        return tools.script_run(skill, "wait", **options)["meta"]["grants"]["timeout"]

    tools = workshop.tools()
    assert granted(tools, "short") == 5
    assert granted(tools, "long") == 60
    assert granted(tools, "long", seconds=7) == 7
    assert granted(tools, "long", seconds=700) == 60
    raised = workshop.tools(Grants(limits=Limits(timeout=300)))
    assert granted(raised, "long") == 300


def test_limits_come_from_the_environment(workshop, monkeypatch):
    monkeypatch.setenv("SCRIPT_TIMEOUT", "9")
    monkeypatch.setenv("MAX_SCRIPT_OUTPUT", "1000")
    workshop.skill(tell_py="print('x' * 5000)")
    answer = workshop.tools().script_run("demo", "tell", json=False)
    assert answer["meta"]["grants"]["timeout"] == 9
    assert answer["meta"]["truncated"] is True
    assert len(answer["result"]) < 1100


def test_help_is_asked_once_for_a_digest_and_again_when_the_skill_changes(workshop):
    base = workshop.skill(hello_py=HELLO)
    tools = workshop.tools()
    first = tools.script_help("demo", "hello")
    assert first["message"] == "Retrieved help for hello"
    assert tools.script_help("demo", "HELLO.py") is first
    (base / "scripts" / "hello.py").write_text("print('usage: other')")
    assert tools.script_help("demo", "hello")["result"] == {
        "help_text": "usage: other",
        "usage": "usage: other",
    }


def test_help_that_fails_is_an_error_and_is_asked_again(workshop):
    workshop.skill(bad_py="raise SystemExit('no help here')")
    tools = workshop.tools()
    answer = tools.script_help("demo", "bad")
    assert answer["error"] == "execution_failed"
    assert "no help here" in answer["message"]
    assert tools.script_help("demo", "bad") is not answer


@pytest.mark.parametrize(
    ("printed", "answers"),
    [
        ("Usage: tell.sh INPUT", True),
        ("Error: no such file: --help\n  usage: tell.sh INPUT", True),
        ("Usage:\n  tell.sh INPUT", True),
        ("tell.sh: line 3: 2: Usage: tell.sh INPUT", True),
        ("the disk usage is high", False),
        ("Traceback (most recent call last):\nusage: not this", False),
    ],
)
@pytest.mark.parametrize("stream", [1, 2])
def test_usage_that_is_told_before_a_failure_is_help(workshop, printed, answers, stream):
    workshop.skill(tell_sh=f"cat >&{stream} <<'END'\n{printed}\nEND\nexit 2")
    answer = workshop.tools().script_help("demo", "tell", from_text=False)
    assert answer["success"] is answers
    if answers:
        assert answer["result"]["help_text"].endswith("tell.sh INPUT")
        assert "it ended with exit code 2" in answer["message"]


def test_help_gets_neither_network_nor_variables_nor_more_time_than_a_run(workshop, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "secret")
    workshop.skill(tell_py="import os; print('usage', os.environ.get('SECRET_KEY'))")
    tools = workshop.tools(Grants(env=("SECRET_KEY",), network=True))
    answer = tools.script_help("demo", "tell")
    assert answer["result"]["help_text"] == "usage None"
    assert answer["meta"]["grants"]["network"] is False
    assert answer["meta"]["grants"]["timeout"] == 60


def test_help_on_stderr_counts_when_stdout_is_empty(workshop):
    workshop.skill(tell_sh="echo 'Tell: does things' >&2\necho '  usage: tell [x]' >&2\n")
    answer = workshop.tools().script_help("demo", "tell")
    assert answer["result"]["usage"] == "  usage: tell [x]"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import yaml", "accept 'PyYAML' for this skill once"),
        ("import openpyxl.styles", "accept 'openpyxl' for this skill once"),
        ("import nobody_knows.it", "the package that has 'nobody_knows' (perhaps of the same name)"),
        ("__import__('scripts.lib')", "has to be run as a module of the skill"),
        (
            "raise SystemExit(\"ImportError: cannot import name 'old' from 'mcp.a' (/site-packages)\")",
            "The installed release of 'mcp' has no 'old'",
        ),
    ],
)
def test_a_package_that_is_not_declared_is_said(workshop, code, said):
    workshop.skill(tell_py=code)
    assert said in workshop.tools().script_run("demo", "tell")["message"]


def test_a_script_that_says_itself_what_is_missing_is_believed(workshop):
    workshop.skill(
        tell_py="""
        import sys
        sys.exit("ModuleNotFoundError: No module named 'x'; install it with conda")
        """
    )
    assert "declare" not in workshop.tools().script_run("demo", "tell")["message"]


def test_a_script_may_import_its_own_folder_by_name(workshop):
    """As several skills do that were written to be run with `python -m scripts.x`."""
    workshop.skill(tell_py="from scripts.lib import VALUE\nprint(VALUE)", lib_py="VALUE = 7")
    assert workshop.tools().script_run("demo", "tell")["result"] == 7


def test_a_script_that_imports_its_relatives_runs_as_a_module_from_the_folder_of_the_skill(workshop):
    workshop.skill(
        tell_py="import os\nfrom .lib import VALUE\nprint([VALUE, sorted(os.listdir())])".replace("'", '"'),
        lib_py="VALUE = 7",
    )
    answer = workshop.tools().script_run("demo", "tell", json=False)
    assert answer["result"] == "[7, ['SKILL.md', 'scripts']]\n", answer


def test_a_program_adds_its_own_command_to_a_failure_it_can_mend(workshop):
    workshop.skill(tell_py="import nobody_knows")
    tools = workshop.tools()
    tools._remedy = lambda cause, skill, subject: f"{cause}: accept it for {skill}"
    answer = tools.script_run("demo", "tell")
    assert answer["cause"] == "missing_package"
    assert answer["message"].endswith("\nmissing_package: accept it for demo")


def test_the_memory_of_a_run_is_told_once_somebody_looked(workshop):
    workshop.skill("demo", big_py="import time\nheld = bytearray(b'x') * (64 << 20)\ntime.sleep(2)\nprint(1)")
    meta = workshop.tools().script_run("demo", "big")["meta"]
    assert 64 << 20 <= meta["memory_bytes"] < 512 << 20
