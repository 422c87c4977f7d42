"""`script_help` of scripts that print no help: from their text, marked as such, with the reason."""

import pytest

from skillkit.scripts import Grants
from skillkit.scripts.script_help import written_help

PARSER = '''
"""Counts words."""
import argparse
import {module}
parser = argparse.ArgumentParser()
parser.add_argument("file", help="What to count")
parser.parse_args()
'''


def test_a_missing_package_leaves_the_arguments_and_says_why(workshop):
    workshop.skill(count_py=PARSER.format(module="nobody_has_this"))
    answer = workshop.tools().script_help("demo", "count")
    assert answer["success"] is True
    assert answer["result"]["source"] == "text"
    assert "Counts words." in answer["result"]["help_text"]
    assert '  parser.add_argument("file", help="What to count")' in answer["result"]["help_text"]
    assert "No module named 'nobody_has_this'" in answer["message"]
    assert answer["cause"] == "missing_package"


def test_what_is_printed_counts_more_than_the_text(workshop):
    workshop.skill(count_py=PARSER.format(module="json"))
    answer = workshop.tools().script_help("demo", "count")
    assert "source" not in answer["result"]
    assert answer["result"]["help_text"].startswith("usage: count.py [-h] file")


def test_an_answer_from_text_is_asked_again_once_the_cause_is_gone(workshop):
    workshop.skill(count_py=PARSER.format(module="gone"))
    tools = workshop.tools()
    first = tools.script_help("demo", "count")
    assert tools.script_help("demo", "count") is not first


def test_usage_told_by_a_script_that_does_not_end_is_help(workshop, time_is_up):
    workshop.skill(tell_sh="echo 'usage: tell FILE'\nsleep 60\n")
    tools = workshop.tools()
    time_is_up()
    answer = tools.script_help("demo", "tell")
    assert answer["result"]["help_text"] == "usage: tell FILE"
    assert "did not end by itself" in answer["message"]


def test_a_refusal_is_not_replaced_by_text(workshop):
    workshop.skill(tell_py='"""Tells."""\nimport argparse\n')
    tools = workshop.tools(Grants(run=False, reason="no"))
    assert tools.script_help("demo", "tell")["error"] == "permission_denied"


@pytest.mark.parametrize(
    ("scripts", "instructions", "text", "usage"),
    [
        (
            {"tell_sh": "# Tells.\n# Usage: tell FILE\nexit 3\n"},
            "",
            "Tells.\nUsage: tell FILE",
            "Usage: tell FILE",
        ),
        (
            {"tell_mjs": "/**\n * Tells.\n */\nconst [file] = process.argv.slice(2)\nprocess.exit(3)\n"},
            "",
            "Tells.\n\nLines of its source about arguments:\n  const [file] = process.argv.slice(2)",
            "",
        ),
        (
            {"tell_py": "raise SystemExit(3)\n"},
            "Run `scripts/tell.py FILE` first.",
            "Lines of SKILL.md:\n  Run `scripts/tell.py FILE` first.",
            "Run `scripts/tell.py FILE` first.",
        ),
    ],
)
def test_what_is_written_is_the_comment_the_argument_lines_and_the_mentions(
    workshop, scripts, instructions, text, usage
):
    base = workshop.skill(**scripts)
    with (base / "SKILL.md").open("a") as file:
        file.write(f"\n{instructions}\n")
    answer = workshop.tools().script_help("demo", "tell")
    assert answer["result"] == {"help_text": text, "usage": usage, "source": "text"}
    assert "exit code 3" in answer["message"]


def test_a_long_text_is_cut():
    found = written_help("tell.py", "# x\n" + "a = argv\n" * 5_000, "`tell.py x`\n" * 2_000)
    assert len(found.text) <= 8000


async def test_the_same_without_blocking(workshop):
    workshop.skill(count_py=PARSER.format(module="nobody_has_this"))
    tools = workshop.tools()
    blocking, other = tools.script_help("demo", "count"), await tools.ascript_help("demo", "count")
    assert blocking["result"] == other["result"]


@pytest.mark.parametrize("args", ["--help", ["--help"], ["-h"], ["--help", "--json"]])
@pytest.mark.parametrize("module", ["json", "nobody_has_this"])
def test_a_run_for_nothing_but_help_is_answered_as_a_question_for_it(workshop, args, module):
    workshop.skill(count_py=PARSER.format(module=module))
    tools = workshop.tools(Grants(network=True))
    help_answer = tools.script_help("demo", "count")
    answer = tools.script_run("demo", "count", args)
    assert answer["result"] == help_answer["result"]
    assert answer["success"] is True
    assert answer["meta"]["grants"]["network"] is False
    text = tools.script_run("demo", "count", args, json=False)
    assert text["result"] == help_answer["result"]["help_text"]
    assert ("its text says" in text["message"]) is (module == "nobody_has_this")


async def test_a_model_that_runs_a_script_for_its_help_gets_it(workshop):
    workshop.skill(count_py=PARSER.format(module="nobody_has_this"))
    tools = workshop.tools()
    run = tools.tool("script_run")
    answer = await run.handler(skill_id="demo", script_name="count", args=["--help"])
    assert answer["result"]["source"] == "text"


def test_the_help_of_a_command_is_text_and_no_broken_json(workshop):
    workshop.skill(
        do_py="import argparse\np = argparse.ArgumentParser()\n"
        's = p.add_subparsers()\ns.add_parser("one").add_argument("file")\np.parse_args()\n'
    )
    answer = workshop.tools().script_run("demo", "do", ["one", "--help"])
    assert answer["success"] is True
    assert answer["result"].startswith("usage: do.py one")
