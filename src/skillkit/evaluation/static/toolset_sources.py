"""Toolsets named by a header: whether the module exists, compiles and has the class."""

import ast
from collections.abc import Iterator

from skillkit.core.models import SkillMetadata
from skillkit.evaluation.report import Problem
from skillkit.evaluation.static.script_sources import compile_problems, source_of
from skillkit.toolsets.base import ToolsetError
from skillkit.toolsets.loader import definition_parts


def toolset_problems(skill: SkillMetadata) -> Iterator[Problem]:
    for named in skill.toolsets:
        try:
            module, name = definition_parts(skill, named)
        except ToolsetError as error:
            yield Problem(str(error), "SKILL.md")
            continue
        path = skill.base_dir.joinpath(*module.split(".")).with_suffix(".py")
        shown = path.relative_to(skill.base_dir).as_posix()
        if not path.is_file():
            yield Problem(f"the toolset {named} needs {shown}, which does not exist", "SKILL.md")
            continue
        problems = list(compile_problems(skill.base_dir, path))
        yield from problems
        if problems:
            continue
        classes = {node.name for node in ast.parse(source_of(path)).body if isinstance(node, ast.ClassDef)}
        if name not in classes:
            yield Problem(f"has no class {name}, which the header names", shown)
