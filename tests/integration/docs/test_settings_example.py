"""`.env.example` has every variable that the program reads, and no other; found from the source."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
SETTINGS = (ROOT / ".env.example").read_text()
SYSTEM = {"HOME", "PATH", "TMPDIR", "COLUMNS"}
"""What every program is given, and no setting of ours."""
SERVICE = re.compile(r"[A-Z]+(_[A-Z]+)*_(API_KEY|BASE_URL|ENDPOINT|HOST|MODEL|DEPLOYMENT_NAME)")


@cache
def constants(path: Path) -> dict[str, str]:
    """Names of a module that stand for a text."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def asked_for(path: Path) -> Iterator[ast.expr]:
    """Whatever a module looks up in an environment."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=where, attr="get"), args=[wanted, *_]):
                pass
            case ast.Subscript(value=where, slice=wanted, ctx=ast.Load()):
                pass
            case ast.Compare(left=wanted, ops=[ast.In()], comparators=[where]):
                pass
            case _:
                continue
        if "environ" in ast.unparse(where):
            yield wanted


def read_by(path: Path) -> set[str]:
    names = set()
    for wanted in asked_for(path):
        match wanted:
            case ast.Constant(value=str(name)):
                names.add(name)
            case ast.Name(id=name) if name in constants(path):
                names.add(constants(path)[name])
    # Keys, addresses and models of services are looked up by a name that each provider has.
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case (
                ast.Assign(value=ast.Constant(value=str(text)))
                | ast.AnnAssign(value=ast.Constant(value=str(text)))
            ) if SERVICE.fullmatch(text):
                names.add(text)
    return names


def test_every_variable_that_is_read_is_listed_and_every_listed_one_is_read():
    read = set().union(*(read_by(path) for path in (ROOT / "src" / "skillkit").rglob("*.py")))
    listed = set(re.findall(r"^# ([A-Z][A-Z_]+)=", SETTINGS, re.MULTILINE))
    assert {"AGENT_SKILLS", "SKILLKIT_SANDBOX", "OPENAI_API_KEY", "KALSHI_API_URL"} <= read
    assert read - SYSTEM == listed


def test_the_example_of_settings_changes_nothing_until_somebody_edits_it():
    assert all(line.startswith("#") for line in SETTINGS.splitlines() if line)


def test_the_example_of_settings_shows_every_value_of_agent_skills():
    values = re.findall(r"^# AGENT_SKILLS=(\S*)", SETTINGS, re.MULTILINE)
    assert values == ["", "kalshi-markets,hello-extended", "all", "all-untrusted"]
    assert "`none`" in SETTINGS
