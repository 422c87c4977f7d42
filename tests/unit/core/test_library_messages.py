"""What the library says fits every program: it names no command and no option of the command line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import skillkit

PACKAGE = Path(skillkit.__file__).parent
PROGRAMS = ("agent", "bundled", "fleet", "inspector", "registry")
"""A fleet, the inspector and a registry are run by the program alone."""
FAMILIES = "skill|config|doctor|inspect|journal|memory|model|serve|session"
COMMAND = re.compile(rf"(?<![\w-])--[a-z]{{2,}}|`agent\b|\bagent (?:-|(?:{FAMILIES})\b)")
ALLOWED = {
    "evaluation/pytest_plugin.py": "--skills is pytest's own option here",
    "evaluation/html_page.py": "the colours of a style sheet",
    "evaluation/static/checks.py": "--help of the script that is tested",
    "evaluation/static/files.py": "--help of the script that is tested",
    "evaluation/behaviour/graders.py": "where there is no judge, the report names the option that brings one",
    "toolsets/script_functions.py": "--json of the script that is written",
    "install/enabled.py": "AGENT_SKILLS and the selection are the program's; document 004 words the hints",
    "install/selection.py": "the one place that names the command which makes a skill active",
    "install/closure.py": "the line of the card that says how to add a skill along",
}


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module with a space in it that is no docstring."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    documented = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in documented:
            continue
        if " " in node.value.strip():
            yield node.lineno, node.value


def test_no_message_below_the_program_names_its_commands_or_options() -> None:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] not in PROGRAMS:
            named = [(line, text) for line, text in sentences(path) if COMMAND.search(text)]
            if named:
                found[relative.as_posix()] = named
    assert {path: named for path, named in found.items() if path not in ALLOWED} == {}
    assert found.keys() == ALLOWED.keys(), "an exception that nothing needs any more"
