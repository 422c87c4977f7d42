"""Packages that a script imports and does not declare: named from its text, given only by the user's word."""

import subprocess
import sys

import pytest
from wheels import build_source, build_wheel, fresh, index

from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import remove_tree
from skillkit.evaluation.validation import validate_file
from skillkit.install.consents import ConsentFile, ConsentKind, add_parts, packages_consent
from skillkit.scripts import DependencyError, Grants
from skillkit.scripts.inline_metadata import InlineMetadata
from skillkit.scripts.needed_packages import needed_packages, packages_of

__all__ = ["fresh", "index"]

pytestmark = pytest.mark.this_machine  # packages are accepted where the user is

SKILL = b"Install with `pip install -q google-cloud-storage>=2 rich` or:\n\n    uv pip install pdfplumber\n"


def needed(script, **files):
    named = {path.replace("__", "/").replace("_dot_", "."): text.encode() for path, text in files.items()}
    tree = {"SKILL.md": SKILL, "scripts/a.py": script.encode(), **named}
    return {each.module: each for each in needed_packages(tree, ["scripts/a.py"])}


@pytest.mark.parametrize(
    ("script", "module", "requirement", "source"),
    [
        ("import yaml", "yaml", "PyYAML", "known"),
        ("from PIL import Image", "PIL.Image", "pillow", "known"),
        ("import requests", "requests", "requests", "known"),
        ("def f():\n    import pdfplumber", "pdfplumber", "pdfplumber", "SKILL.md"),
        ("from rich.table import Table", "rich.table.Table", "rich", "SKILL.md"),
        ("from google.cloud import storage", "google.cloud.storage", "google-cloud-storage>=2", "SKILL.md"),
        ("from google.cloud import bigquery", "google.cloud.bigquery", "google-cloud-bigquery", "known"),
        (
            "from google.cloud import secretmanager_v1",
            "google.cloud.secretmanager_v1",
            "google-cloud-secret-manager",
            "known",
        ),
        (
            "from google.cloud import bigquery_storage",
            "google.cloud.bigquery_storage",
            "google-cloud-bigquery-storage",
            "known",
        ),
        ("import grpc", "grpc", "grpcio", "known"),
        ("import azure.identity", "azure.identity", "azure-identity", "known"),
        ("from azure.storage.blob import A", "azure.storage.blob.A", "azure-storage-blob", "known"),
        ("import azure.storage", "azure.storage", None, ""),
        ("from google import nobody", "google.nobody", None, ""),
        ("import somebodys_thing", "somebodys_thing", "somebodys-thing", "same name"),
        ("import utils_of, helpers", "helpers", None, ""),
    ],
)
def test_an_import_is_named_with_the_package_that_most_likely_has_it(script, module, requirement, source):
    found = needed(script)[module]
    assert (found.requirement, found.source) == (requirement, source)


@pytest.mark.parametrize(
    "script",
    [
        "import json, os.path, sqlite3",
        "from . import b",
        "import b",
        "from scripts import b",
        "from scripts.b import f",
        "# /// script\n# dependencies = ['requests']\n# ///\nimport requests, yaml",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas",
        "def broken(:",
        "import " + "a." * 5000 + "b" + "(" * 5000,
    ],
)
def test_what_comes_with_python_or_with_the_skill_is_not_asked_for(script):
    assert needed(script, scripts__b_dot_py="import json") == {}


def test_modules_of_the_skill_are_followed_and_a_forgiven_import_is_optional():
    script = """
import b
try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    print("pip install pandas"); sys.exit(1)
"""
    found = needed(script, scripts__b_dot_py="import lxml.etree")
    assert {module: each.optional for module, each in found.items()} == {
        "lxml.etree": False,
        "numpy": True,
        "pandas": False,
    }


def test_requirements_beside_the_scripts_count_more_than_a_guess():
    found = needed("import cv2, thing", requirements_dot_txt="thing==1.2  # pinned\n-r other.txt\n")
    assert (found["thing"].requirement, found["thing"].source) == ("thing==1.2", "requirements.txt")
    assert found["cv2"].requirement == "opencv-python-headless"
    found = needed("import cv2", requirements_dot_txt="opencv-python>=4")
    assert found["cv2"].requirement == "opencv-python>=4"


@pytest.mark.parametrize(
    ("said", "module", "requirement"),
    [
        ("sys.exit('Install with: pip install psycopg2')", "psycopg2", "psycopg2"),
        ("# pip install python-telegram-bot", "telegram", "python-telegram-bot"),
        ("# pip install thing-one thing-two", "thing", "thing"),
        ("# pip install other-yaml", "yaml", "PyYAML"),
    ],
)
def test_what_a_script_says_of_installing_counts_more_than_a_guess(said, module, requirement):
    assert needed(f"import {module}\n{said}\n")[module].requirement == requirement


def accept(workshop, skill, requirements):
    """What the program does when the user says yes."""
    base = workshop.folder / skill
    digest = tree_digests.with_links(base).digest
    lock = workshop.tools()._runner.environments.lock(skill, InlineMetadata.of(requirements))
    consents = ConsentFile(workshop.folder / ".agent")
    consents.grant(packages_consent(skill, digest, requirements, lock))
    return digest, consents


def test_accepted_packages_are_there_for_that_digest_and_no_other(fresh, index):
    base = fresh.skill("demo", tell_py="import outer\nprint(outer.VALUE)")
    assert [each.module for each in packages_of(fresh.tools()._skills.get_skill("demo"))] == ["outer"]
    assert fresh.tools().script_run("demo", "tell", json=False)["cause"] == "missing_package"
    digest, consents = accept(fresh, "demo", ["outer"])
    granted = add_parts(Grants(), digest, consents)
    assert granted.packages.count("--hash=sha256:") == 2
    answer = fresh.tools(granted).script_run("demo", "tell", json=False)
    assert answer["result"] == "outer of inner\n", answer
    assert fresh.tools(granted).script_help("demo", "tell")["success"]
    (base / "scripts" / "tell.py").write_text("import outer; print('other')")
    assert add_parts(Grants(), tree_digests.with_links(base).digest, consents) == Grants()
    consents.revoke(where=lambda each: each.kind is ConsentKind.PACKAGES)
    assert add_parts(Grants(), digest, consents) == Grants()


def test_a_package_that_changed_after_it_was_accepted_is_refused(fresh, index):
    fresh.skill("demo", tell_py="import outer\nprint(outer.VALUE)")
    digest, consents = accept(fresh, "demo", ["outer"])
    build_wheel(index, "outer", {"outer.py": "VALUE = 'another'"})
    remove_tree(fresh.home / "environments" / "uv-cache")  # where the accepted one may still be
    answer = fresh.tools(add_parts(Grants(), digest, consents)).script_run("demo", "tell")
    assert answer["error"] == "dependency_failed"


@pytest.mark.parametrize("requirement", ["builds", "nowhere", "--index-url=http://x", "outer @ file:///x"])
def test_only_wheels_of_the_users_own_index_are_accepted(fresh, index, tmp_path, requirement):
    trace = tmp_path / "trace"
    build_source(index, "builds", trace)
    with pytest.raises(DependencyError):
        fresh.tools()._runner.environments.lock("demo", InlineMetadata.of([requirement]))
    assert not trace.exists()


BLOCK = "# /// script\n# dependencies = ['inner<2']\n# ///\n"


def test_what_a_script_declares_itself_is_completed_and_not_replaced_by_what_was_accepted(fresh, index):
    build_wheel(index, "other", {"other.py": "VALUE = 'other'"})
    build_wheel(index, "inner", {"inner.py": "VALUE = 'inner 2'"}, version="2.0")
    fresh.skill("demo", tell_py=f"{BLOCK}import inner, other\nprint(inner.VALUE, other.VALUE)")
    (missing,) = packages_of(fresh.tools()._skills.get_skill("demo"), strict=True)
    assert (missing.module, missing.requirement) == ("other", "other")
    assert "No module named 'other'" in fresh.tools().script_run("demo", "tell")["message"]
    digest, consents = accept(fresh, "demo", ["other", "inner>=2"])
    granted = add_parts(Grants(), digest, consents)
    assert "inner==2.0" in granted.packages
    answer = fresh.tools(granted).script_run("demo", "tell", json=False)
    assert answer["result"] == "inner other\n", answer


def test_a_script_that_declares_all_it_imports_gets_nothing_of_what_was_accepted(fresh, index):
    build_wheel(index, "other", {"other.py": ""})
    told = "import inner, importlib.util\nprint(importlib.util.find_spec('other'))"
    fresh.skill("demo", tell_py=f"{BLOCK}{told}", more_py="import other")
    digest, consents = accept(fresh, "demo", ["other"])
    answer = fresh.tools(add_parts(Grants(), digest, consents)).script_run("demo", "tell", json=False)
    assert answer["result"] == "None\n", answer


@pytest.mark.parametrize(
    ("declared", "imports", "missing"),
    [
        (["requests"], "requests, yaml", ["yaml"]),
        (["opencv-python", "Pillow>=10"], "cv2, PIL", []),
        (["google-genai"], "google.genai, google.cloud.storage", ["google.cloud.storage"]),
        (["a-name-of-another-kind"], "thing", ["thing"]),
        (["opencv"], "cv2", ["cv2"]),
        (["rich"], "rich, thing", ["thing"]),
        ([], "thing", ["thing"]),
        (["x @ https://example.com/x.whl"], "yaml", []),
        (["not a requirement"], "yaml", []),
    ],
)
def test_what_a_list_of_packages_has_left_out_is_found(declared, imports, missing):
    script = f"# /// script\n# dependencies = {declared!r}\n# ///\nimport {imports}"
    files = {"SKILL.md": b"", "scripts/a.py": script.encode()}
    found = needed_packages(files, ["scripts/a.py"], strict=True)
    assert [each.module for each in found] == missing
    assert not declared or needed_packages(files, ["scripts/a.py"]) == []


def test_validating_names_imports_with_the_packages_they_most_likely_come_from(workshop):
    base = workshop.skill(tell_py="import yaml, thing\nimport pdfplumber", go_mjs="import x from 'left-pad'")
    (base / "SKILL.md").write_text("---\nname: demo\ndescription: Does\n---\npip install pdfplumber\n")
    (warning,) = validate_file(base / "SKILL.md").warnings
    assert warning.code == "undeclared-import"
    assert "thing (perhaps thing), yaml (PyYAML), left-pad (the npm package" in warning.message
    assert "agent skill" not in warning.message
    program = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]
    shown = subprocess.check_output([*program, "skill", "validate", str(base)], text=True)
    assert "agent skill packages demo" in shown
    assert "pdfplumber" not in warning.message
