"""Tools of a toolset, read from its source: nothing of the skill is imported."""

import ast
from collections.abc import Callable
from pathlib import Path

from skillkit.core.models import SkillMetadata
from skillkit.toolsets.base import ToolsetError
from skillkit.toolsets.loader import definition_parts


def declared_tools(skill: SkillMetadata, source: Callable[[str], bytes | None]) -> list[str]:
    """`skill.Class.tool` for every public method of the classes that the header names.

    `source` gives the content of a file of the skill; None when there is no such file.
    """
    found: list[str] = []
    for definition in skill.toolsets:
        try:
            module, name = definition_parts(skill, definition)
        except ToolsetError:
            continue
        path = module.replace(".", "/")
        text = source(f"{path}.py")
        text = source(f"{path}/__init__.py") if text is None else text
        found += [f"{skill.name}.{name}.{tool}" for tool in _methods(text or b"", name)]
    return found


def toolset_file(skill: SkillMetadata, module: str) -> Path | None:
    """The source of a module that a header names; None when there is none."""
    file = skill.base_dir / module.replace(".", "/")
    return next((path for path in (Path(f"{file}.py"), file / "__init__.py") if path.is_file()), None)


def toolset_problems(skill: SkillMetadata) -> list[str]:
    """Why toolsets that the header names cannot be loaded, as far as it can be seen without importing."""
    problems = []
    for definition in skill.toolsets:
        try:
            module, _ = definition_parts(skill, definition)
        except ToolsetError as error:
            problems.append(str(error))
            continue
        if toolset_file(skill, module) is None:
            path = module.replace(".", "/")
            problems.append(
                f"Toolset '{definition}' cannot be loaded: there is no file {path}.py in its folder"
            )
    return problems


def _methods(text: bytes, name: str) -> list[str]:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    methods = (
        statement.name
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == name
        for statement in node.body
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        and not any(_is_no_method(decorator) for decorator in statement.decorator_list)
    )
    return [method for method in methods if not method.startswith("_")]


def _is_no_method(decorator: ast.expr) -> bool:
    """Whether the decorator makes it something other than a plain method, which is not a tool."""
    names = {node.id for node in ast.walk(decorator) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(decorator) if isinstance(node, ast.Attribute)}
    return bool(names & {"staticmethod", "classmethod", "property", "cached_property", "setter", "deleter"})
