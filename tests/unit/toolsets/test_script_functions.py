"""Functions of a program as scripts of a skill."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.toolsets.script_functions import script_text

LIMIT = 3


def count(
    text: str,
    *,
    words: Annotated[list[str] | None, "Words to count, 100% of them"] = None,
    times: int = 2,
    unit: Literal["one", "all"] = "all",
    upper_case: bool = False,
) -> dict[str, object]:
    """Count words.

    Args:
        text: What to read.
    """
    import re

    found = [word for word in re.findall(r"\w+", text) if not words or word in words]
    return {"count": len(found) * times, "unit": unit, "upper": upper_case}


async def greet(name: str) -> str:
    """Greet "somebody"."""
    import asyncio

    await asyncio.sleep(0)
    return f"Hello, {name}!"


def run(tmp_path: Path, function: Callable[..., Any], *arguments: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "script.py"
    file.write_text(script_text(function), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-I", file, *arguments], capture_output=True, text=True, check=False
    )


def test_a_function_is_a_program_with_an_option_for_each_argument(tmp_path: Path):
    done = run(tmp_path, count, "--text", "a b a", "--words", "a", "--times", "3", "--upper-case")
    assert json.loads(done.stdout) == {"count": 6, "unit": "all", "upper": True}
    said = run(tmp_path, count, "--help").stdout
    for text in ("Count words.", "What to read.", "100% of them"):
        assert text in said
    assert run(tmp_path, count).returncode == 2
    assert "invalid choice" in run(tmp_path, count, "--text", "a", "--unit", "none").stderr


def test_text_is_printed_as_it_is_unless_json_is_wanted(tmp_path: Path):
    assert run(tmp_path, greet, "--name", "Ada").stdout == "Hello, Ada!\n"
    assert run(tmp_path, greet, "--name", "Ada", "--json").stdout == '"Hello, Ada!"\n'


def test_dependencies_are_declared_as_scripts_declare_them():
    assert script_text(greet, ["httpx>=0.28"]).startswith(
        '# /// script\n# dependencies = ["httpx>=0.28"]\n# ///\n'
    )


def test_a_function_that_cannot_run_on_its_own_is_refused_with_the_reason():
    secret = "x"

    def uses_outside() -> int:
        return len(json.dumps(secret)) + LIMIT

    def has_default(limit: int = LIMIT) -> int:
        return limit

    def takes_object(value: dict[str, int]) -> int:
        return len(value)

    for function, reason in (
        (uses_outside, "uses LIMIT, json, secret from outside"),
        (has_default, "definition fails on its own: name 'LIMIT' is not defined"),
        (takes_object, "'value' must be text"),
        (lambda: 1, "not written with def"),
        (len, "source cannot be read"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            script_text(function)  # type: ignore[arg-type]
