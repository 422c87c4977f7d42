"""Frozen data classes are values: what reads, writes, connects or starts something is not one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import skillkit

SOURCE = Path(skillkit.__file__).parent
IO = re.compile(
    r"(open|print|os\.(open|read|write|listdir|scandir|stat|lstat)|subprocess\.\w+|shutil\.\w+|socket\.\w+|urlopen"
    r"|sys\.std(out|err)\.write|.*\.(read_text|read_bytes|write_text|write_bytes|mkdir|unlink|rmdir|iterdir"
    r"|glob|rglob|is_file|is_dir|exists|lstat|symlink_to|chmod|replace_file))"
)
EDGES = {"parse", "open"}
"""A source is a value: naming one looks whether a path is there, and opening one is what it is for."""


def _methods() -> Iterator[tuple[str, ast.AST]]:
    for path in SOURCE.rglob("*.py"):
        if "bundled" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any(
                "frozen=True" in ast.unparse(each) for each in node.decorator_list
            ):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                        name = f"{path.relative_to(SOURCE)}:{method.lineno} {node.name}.{method.name}"
                        if not (path.parent.name == "sources" and method.name in EDGES):
                            yield name, method


def test_no_method_of_a_frozen_data_class_does_io() -> None:
    found = [
        f"{name} calls {ast.unparse(call.func)}"
        for name, method in _methods()
        for call in ast.walk(method)
        if isinstance(call, ast.Call) and IO.fullmatch(ast.unparse(call.func))
    ]
    assert found == []
