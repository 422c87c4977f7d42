"""`script_help` of scripts that print no help: from their text, marked as such, with the reason."""

import pytest

from skillkit.scripts import Grants

PARSER = '''
"""Counts words."""
import argparse
import {module}
parser = argparse.ArgumentParser()
parser.add_argument("file", help="What to count")
parser.parse_args()
'''


def test_a_script_whose_text_knows_of_no_help_is_not_run(workshop, runs):
    workshop.skill(tell_py='"""Tells the time."""\nprint("it is late")\n')
    answer = workshop.tools().script_help("demo", "tell")
    assert answer["result"] == {"help_text": "Tells the time.", "usage": "", "source": "text"}
    assert answer["message"] == "tell prints no help; this is what its text says, and nothing was run"
    assert runs == []


def test_a_missing_package_leaves_the_arguments_and_says_why(workshop):
    workshop.skill(count_py=PARSER.format(module="nobody_has_this"))
    answer = workshop.tools().script_help("demo", "count")
    assert answer["success"] is True
    assert answer["result"]["source"] == "text"
    assert answer["result"]["usage"] == "usage: count.py file"
    assert "Counts words." in answer["result"]["help_text"]
    assert "  file  What to count" in answer["result"]["help_text"]
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


@pytest.mark.parametrize(
    "scripts",
    [
        {"tell_py": "import sys\nif len(sys.argv) != 2: sys.exit('Usage: tell FILE')\nopen(sys.argv[1])"},
        {"tell_sh": '[ $# -eq 1 ] || { echo "Usage: tell FILE"; exit 1; }\ncat "./$1"'},
        {"tell_sh": 'FILE="$1"\n[ -z "$FILE" ] && { echo "Usage: tell FILE"; exit 1; }\ncat "./$FILE"'},
        {"tell_py": "import sys\nif len(sys.argv) < 2: print('\\nUsage: tell FILE')\nelse: sys.exit('no')"},
    ],
)
def test_a_script_that_takes_help_for_an_argument_is_asked_without_any(workshop, scripts):
    workshop.skill(**scripts)
    answer = workshop.tools().script_help("demo", "tell")
    assert answer["result"] == {"help_text": "Usage: tell FILE", "usage": "Usage: tell FILE"}


def test_what_a_script_does_without_arguments_is_no_help(workshop):
    workshop.skill(
        tell_py='"""Tells."""\nimport sys\n# no --help\n'
        'print(open(sys.argv[1]) if len(sys.argv) > 1 else "done")'
    )
    answer = workshop.tools().script_help("demo", "tell")
    assert answer["result"]["source"] == "text"
    assert answer["result"]["help_text"] == "Tells."


def test_without_a_sandbox_nothing_is_started_without_arguments(workshop, runs):
    workshop.skill(
        tell_py="import sys\nif len(sys.argv) != 2: sys.exit('Usage: tell FILE')\nopen(sys.argv[1])"
    )
    workshop.tools(Grants(unsandboxed=True)).script_help("demo", "tell")
    assert [request.arguments for request in runs] == [("--help",)]


def test_usage_told_by_a_script_that_does_not_end_is_help(workshop):
    from skillkit.scripts import Limits

    workshop.skill(tell_sh="echo 'usage: tell FILE'\nsleep 60\n")
    answer = workshop.tools(limits=Limits(timeout=1)).script_help("demo", "tell")
    assert answer["result"]["help_text"] == "usage: tell FILE"
    assert "did not end by itself" in answer["message"]


def test_the_help_of_absl_counts_although_it_fails(workshop):
    said = "flags:\\n\\ntell.py:\\n  --project: A name.\\n\\nTry --helpfull to get a list of all flags."
    workshop.skill(tell_py=f"print('{said}')\nraise SystemExit(1)")
    answer = workshop.tools().script_help("demo", "tell")
    assert "source" not in answer["result"]
    assert "--project: A name." in answer["result"]["help_text"]


@pytest.mark.parametrize(
    "said", ["用法：\n  tell FILE", "Uso: tell FILE", "unknown command: --help. Use one of: get, set"]
)
def test_usage_is_told_in_other_words_and_languages(workshop, said):
    workshop.skill(tell_py=f'"""{said}"""\nimport sys\nprint(__doc__)\nsys.exit(1)\n')
    answer = workshop.tools().script_help("demo", "tell")
    assert "source" not in answer["result"]
    assert answer["result"]["help_text"] == said


@pytest.mark.parametrize("heading", ["commands:", "Available commands:", "Subcommands:"])
def test_a_list_of_commands_is_how_a_script_is_used(workshop, heading):
    workshop.skill(tell_mjs=f"console.error(`{heading}\\n  get FILE  usage of it`); process.exit(1)\n")
    answer = workshop.tools().script_help("demo", "tell")
    assert "source" not in answer["result"]
    assert answer["result"]["help_text"] == f"{heading}\n  get FILE  usage of it"


def test_a_refusal_is_not_replaced_by_text(workshop):
    workshop.skill(tell_py='"""Tells."""\nimport argparse\n')
    tools = workshop.tools(Grants(run=False, reason="no"))
    assert tools.script_help("demo", "tell")["error"] == "permission_denied"


async def test_the_same_without_blocking(workshop):
    workshop.skill(count_py=PARSER.format(module="nobody_has_this"))
    tools = workshop.tools()
    blocking, other = tools.script_help("demo", "count"), await tools.ascript_help("demo", "count")
    assert blocking["result"] == other["result"]


@pytest.fixture
def runs(monkeypatch):
    """Every request that the runner is given."""
    from skillkit.scripts import LocalRunner

    seen = []
    run = LocalRunner.run
    monkeypatch.setattr(LocalRunner, "run", lambda self, request: seen.append(request) or run(self, request))
    return seen


def test_the_help_of_a_program_that_a_script_calls_is_not_the_scripts(workshop):
    workshop.skill(show_sh='# usage of this: show FILE\ncat "$1"\n')
    answer = workshop.tools().script_help("demo", "show")
    assert answer["result"]["source"] == "text"
    assert "show FILE" in answer["result"]["help_text"]
    assert "took what asks for help as an argument of cat" in answer["message"]


def test_a_script_that_counts_its_arguments_is_asked_again_after_the_help_of_another(workshop):
    workshop.skill(show_sh='[ $# -eq 1 ] || { echo "Usage: show FILE"; exit 1; }\ncat "$1"\n')
    answer = workshop.tools().script_help("demo", "show")
    assert answer["result"] == {"help_text": "Usage: show FILE", "usage": "Usage: show FILE"}


def test_a_script_that_hands_everything_on_has_the_help_of_that_program(workshop):
    workshop.skill(show_sh='exec cat "$@"\n')
    answer = workshop.tools().script_help("demo", "show")
    assert answer["result"]["usage"].startswith("Usage: cat ")
    assert answer["message"].endswith("it is the help of cat, which it calls")


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
