"""Which folders of a skill are on the path of its scripts."""

import ast
import uuid

import pytest

from skillkit.scripts.imports import imports_in, own_folders
from skillkit.scripts.needed_packages import needed_packages


@pytest.mark.parametrize(
    ("files", "script", "imports", "folders"),
    [
        (["scripts/helper.py"], "scripts/run.py", "import helper", ()),
        (["scripts/helper.py"], "scripts/tests/run.py", "import helper", ("scripts",)),
        (["scripts/a.py"], "scripts/run.py", "from scripts.a import x", ("",)),
        (["scripts/deep/a.py"], "scripts/deep/run.py", "from scripts.deep.a import x", ("",)),
        (["lib/helper.py"], "scripts/run.py", "from helper import x", ("lib",)),
        (["tool/core.py"], "scripts/run.py", "def f():\n    from tool.core import x", ("",)),
        (["src/tool/core.py", "lib/b.py"], "scripts/run.py", "import tool\nimport b", ("lib", "src")),
        (["json.py"], "scripts/run.py", "import json", ()),
        (["notes/tool.md"], "scripts/run.py", "import notes", ()),
        ([], "scripts/run.py", "import requests", ()),
    ],
)
def test_folders_of_modules(tmp_path, files, script, imports, folders):
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert own_folders(tmp_path, script, imports_in(imports.encode())) == folders


def test_no_package_is_proposed_for_a_module_that_the_skill_has():
    files = {
        "scripts/tests/test_it.py": b"import analyze_logs, helper, unknown_thing",
        "scripts/analyze_logs.py": b"import yaml",
        "tools/helper.py": b"",
    }
    needed = needed_packages(files, ["scripts/tests/test_it.py"])
    assert [(each.module, each.requirement) for each in needed] == [
        ("unknown_thing", "unknown-thing"),
        ("yaml", "PyYAML"),
    ]


def test_a_source_is_parsed_once_however_many_checks_ask_for_its_imports(monkeypatch):
    parsed, parse = [], ast.parse
    monkeypatch.setattr("ast.parse", lambda content: parsed.append(content) or parse(content))
    source = f"import requests  # {uuid.uuid4()}".encode()
    assert [imports_in(bytes(source)) for _ in range(3)] == [(("requests", False),)] * 3
    assert parsed == [source]
