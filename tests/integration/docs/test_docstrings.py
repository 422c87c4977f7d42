"""Every module says what it is for, every public name what it does, and both in plain words."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import skillkit

ROOT = Path(__file__).parents[3]
SOURCES = Path(skillkit.__file__).parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PUBLIC = ("skillkit", *(f"skillkit.{name}" for name in "disclosure matching scripts toolsets".split()))


def test_every_module_begins_with_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if (text := path.read_text()) and not ast.get_docstring(ast.parse(text))
    ]
    assert silent == []


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_explained(module: str) -> None:
    package = importlib.import_module(module)
    callables = {name: getattr(package, name) for name in package.__all__}
    kinds = {
        name: value
        for name, value in callables.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    }
    assert len(kinds) > 3
    assert [name for name, value in kinds.items() if not (value.__doc__ or "").strip()] == []


LITERARY = re.compile(r"\b(?:house|courier|bury|gift|tempted|shouted)\b", re.IGNORECASE)


def test_the_words_are_plain() -> None:
    """A metaphor cannot be searched for."""
    pages = {path: path.read_text() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))}
    for path in SOURCES.rglob("*.py"):
        if "bundled" not in path.parts:
            nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, DOCUMENTED)]
            pages[path] = "\n".join(ast.get_docstring(node) or "" for node in nodes)
    found = [(path.name, word) for path, text in pages.items() for word in LITERARY.findall(text)]
    assert found == []
