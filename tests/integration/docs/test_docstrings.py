"""Every room says what it is for, and every public name what it does."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import skillkit

SOURCES = Path(skillkit.__file__).parent
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
    room = importlib.import_module(module)
    callables = {name: getattr(room, name) for name in room.__all__}
    kinds = {
        name: value
        for name, value in callables.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    }
    assert len(kinds) > 3
    assert [name for name, value in kinds.items() if not (value.__doc__ or "").strip()] == []
