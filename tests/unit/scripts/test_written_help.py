"""What is read in a script's text, without running it."""

import textwrap

import pytest

from skillkit.scripts.written_help import find_written_help


def written(file: str, source: str, instructions: str = "", modules: tuple[str, ...] = ()):
    return find_written_help(file, textwrap.dedent(source).encode(), instructions, modules)


def test_the_arguments_of_argparse_are_read_with_their_commands():
    found = written(
        "tell.py",
        '''
        """Tells what it knows."""
        import argparse
        parser = argparse.ArgumentParser(prog="tell")
        parser.add_argument("-v", "--verbose", help="Say more")
        parser.add_argument("--mode", choices=["a", "b"], required=True)
        commands = parser.add_subparsers()
        one = commands.add_parser("one", help="The first")
        one.add_argument("file", help="What to " "read")
        ''',
    )
    assert found.usage == "usage: tell [--verbose] --mode {one}"
    assert "Tells what it knows." in found.text
    assert "  -v, --verbose  Say more\n  --mode  one of ['a', 'b']; required" in found.text
    assert "Command one:\n  The first\n  file  What to read" in found.text
    assert found.knows_help


@pytest.mark.parametrize(
    "decorated",
    [
        '@click.command()\n@click.argument("name")\n@click.option("--loud", help="Shout")\n'
        "def main(name, loud): ...",
        "@app.command()\ndef main(name: str, loud: Annotated[bool, typer.Option(help='Shout')] = False): ...",
    ],
)
def test_the_arguments_of_commands_made_by_decorators_are_read(decorated):
    found = written("tell.py", f"import click, typer\n{decorated}\n")
    assert "--loud  Shout" in found.text
    assert "name" in found.usage.lower()


def test_the_choices_of_an_option_are_read_from_its_type():
    option = '@click.option("--state", type=click.Choice(["open", "late"]), help="Which")'
    found = written("tell.py", f"import click\n@click.command()\n{option}\ndef main(state): ...\n")
    assert "--state  Which; one of open, late" in found.text


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (
            "t.py",
            "import sys\nif len(sys.argv) < 2:\n"
            '    print(f"Usage: {sys.argv[0]} FILE")\n    print("  FILE: a page")\n',
        ),
        ("t.py", '"""Usage: t.py FILE\n\n  FILE: a page\n"""\n'),
        ("t.sh", "#!/bin/sh\n# Copyright 2026 Somebody\n#\n# Usage: t.sh FILE\n#   FILE: a page\n"),
        ("t.sh", "usage() {\n  cat <<EOF\nUsage: t.sh FILE\n  FILE: a page\nEOF\n}\n"),
        ("t.js", "/* Licensed under a licence */\nconsole.log(`Usage: t.js FILE\n  FILE: a page`)\n"),
        ("t.ts", "/**\n * Usage: t.ts FILE\n *   FILE: a page\n */\n"),
        ("t.rb", "# Usage: t.rb FILE\n#   FILE: a page\n"),
    ],
)
def test_usage_is_found_where_authors_put_it(file, source):
    found = written(file, source)
    assert found.usage.startswith("Usage: ")
    assert found.usage.endswith("FILE")
    assert "FILE: a page" in found.text
    assert not {"Copyright", "Licensed"} & set(found.text.split())


def test_commands_in_the_instructions_are_shown():
    instructions = (
        "Run `python scripts/pack.py DIR OUT`, see `pack.py`.\n"
        "```\npython unpack.py X\nscripts/pack.py \\\n  A B\n```\n"
    )
    found = written("pack.py", "x = 1\n", instructions)
    assert found.text == "Shown in SKILL.md:\n  python scripts/pack.py DIR OUT\n  scripts/pack.py A B"
    assert found.usage == "python scripts/pack.py DIR OUT"


def test_variables_and_input_are_named_beside_what_is_said():
    found = written(
        "t.py", '"""Does it."""\nimport os, sys\nos.environ["KEY"], os.getenv("OTHER")\nsys.stdin.read()\n'
    )
    assert (
        found.text
        == "Does it.\n\nIt reads the variables KEY, OTHER.\nIt reads standard input, which is empty in a run."
    )
    shell = written("t.sh", "# Does it\necho ${TOKEN:?set it first}\n")
    assert "It needs:\n  TOKEN  set it first" in shell.text


def test_a_script_that_says_nothing_has_no_help():
    assert written("t.py", "print(1)\n").text == ""
    assert written("t.sh", "echo done\n").text == ""


def test_a_script_that_imports_a_module_of_the_skill_may_know_help():
    assert not written("t.py", "from cli import main\nmain()\n").knows_help
    assert written("t.py", "from cli import main\nmain()\n", modules=("cli",)).knows_help
    assert written("t.sh", '. "$DIR/common.sh"\n', modules=("common",)).knows_help
    assert written("t.mjs", 'import { main } from "./lib/cli.mjs"\n', modules=("cli",)).knows_help


def test_hidden_characters_and_length_are_limited():
    found = written("t.py", '"""Usage: a\u202eb ' + "x" * 50_000 + '"""\n')
    assert "\u202e" not in found.text + found.usage
    assert len(found.text) <= 8000
    assert len(found.usage) <= 400


HOSTILE = [
    ("t.sh", "\n" * 500_000),
    ("t.sh", "<<EOF\n" * 150_000),
    ("t.sh", "-a|" * 300_000),
    ("t.sh", "[ " + " " * 900_000),
    ("t.js", "/*" * 400_000),
    ("t.js", "`" * 900_001),
    ("t.js", "\"'" * 400_000),
    ("t.py", "(" * 100_000),
    ("t.py", "x = " + "a[" * 90 + "0" + "]" * 90 + "\n" + "y[0]\n" * 50_000),
    ("t.py", "print(" + "'a' + " * 5000 + "'usage:')\n"),
    ("t.py", "from " * 180_000),
]


@pytest.mark.parametrize(("file", "source"), HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_costs_much_time_or_an_exception(file, source):
    # Anything that is quadratic in these takes hours.
    assert len(find_written_help(file, source.encode(), f"`{file} x`\n" * 20_000).text) <= 8000


@pytest.mark.parametrize(
    ("file", "source", "usage"),
    [
        ("show.sh", 'cat "$1"\n', "usage: show.sh ARGUMENT1"),
        ("copy.sh", 'FROM="$1"\nTO=${2:-/tmp}\ncp "$FROM" "$TO"\n', "usage: copy.sh FROM [TO]"),
        ("copy.sh", "FROM=$1\n# $3 is not read\necho $10\n", "usage: copy.sh FROM"),
        (
            "copy.py",
            "import sys\nsource = sys.argv[1]\ntarget: str = sys.argv[2]\n",
            "usage: copy.py SOURCE TARGET",
        ),
        ("copy.mjs", "const source = process.argv[2]\n", "usage: copy.mjs SOURCE"),
        ("copy.js", "const [source, target] = process.argv.slice(2)\n", "usage: copy.js SOURCE TARGET"),
        ("copy.rb", "source = ARGV[0]\n", "usage: copy.rb SOURCE"),
        ("noargs.sh", "date\n", ""),
    ],
)
def test_arguments_that_a_silent_script_takes_by_their_place_are_its_usage(file, source, usage):
    found = written(file, source)
    assert (found.usage, found.text) == (usage, usage)


def test_a_command_that_leaves_out_the_end_of_the_name_is_found():
    instructions = "Run `python scripts/pack DIR`, `python -m scripts.pack OUT`, not `cat packs/pack`.\n"
    found = written("pack.py", "x = 1\n", instructions)
    assert found.text == "Shown in SKILL.md:\n  python scripts/pack DIR\n  python -m scripts.pack OUT"


@pytest.mark.parametrize(
    ("source", "knows"),
    [
        ('exec tool "$@"\n', True),
        ("npx --no tool $*\n", True),
        ('for each in "$@"; do cat "$each"; done\n', False),
        ('cat "$1"\n', False),
    ],
)
def test_a_script_that_hands_all_arguments_on_may_have_a_help(source, knows):
    assert written("tell.sh", source).knows_help is knows


def test_options_that_a_script_of_node_looks_for_are_listed():
    source = 'if (arg === "--base") base = next()\nelse if (arg.startsWith("--out=")) out = arg.slice(6)\n'
    assert written("merge.mjs", source).text == "Options:\n  --base\n  --out"
