"""Skills written in Python: instructions, files and functions, in the same catalogue as skills in folders."""

import json
import runpy
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from skillkit.core.authority import Authority, Requester, WrappedAuthority
from skillkit.core.availability import Refusal
from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import real_path
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata, SkillSource, SourceType
from skillkit.core.names import canonical_name
from skillkit.core.names import refusal as name_refusal
from skillkit.core.path_resolver import safe_parts
from skillkit.core.sources import PRIORITY_LAST
from skillkit.disclosure import Effect, SkillSession, Tool
from skillkit.toolsets.base import as_tool, tool
from skillkit.toolsets.script_functions import script_text

Text = str | Callable[[], str]
Function = TypeVar("Function", bound=Callable[..., Any])


class PythonSkill:
    """A skill as an object: `instructions`, `resources` by path, functions as `scripts` and `tools`, header
    `fields`.

    A text may be a function that returns it; it is called when the skill is written. A script runs in the
    sandbox like any other, from a file with the function's source; a tool runs in this process.
    """

    def __init__(
        self,
        name: str,
        description: str,
        instructions: Text,
        *,
        resources: Mapping[str, Text] | None = None,
        scripts: Sequence[Callable[..., Any]] = (),
        tools: Sequence[Callable[..., Any]] = (),
        **fields: object,
    ) -> None:
        if (problem := name_refusal(name)) is not None:
            raise ConfigurationError(f"Invalid skill name {name!r}: it {problem}", "name")
        self.name = name
        self.description = description
        self.instructions = instructions
        self.resources: dict[str, Text] = dict(resources or {})
        self.fields = fields
        self.tools: list[Tool] = [as_tool(function) for function in tools]
        for function in scripts:
            self.script(function)

    def resource(self, path: str) -> Callable[[Function], Function]:
        """A decorator: the function returns the text of the file `path`."""

        def add(function: Function) -> Function:
            self.resources[path] = function
            return function

        return add

    @overload
    def script(self, function: Function) -> Function: ...
    @overload
    def script(
        self, function: None = None, *, dependencies: Sequence[str] = ()
    ) -> Callable[[Function], Function]: ...
    def script(self, function: Any = None, *, dependencies: Sequence[str] = ()) -> Any:
        """A decorator: the function is a script, with options for arguments; it prints what it returns.

        It runs on its own, so it imports what it needs; `dependencies` are packages that it needs.
        """

        def add(function: Function) -> Function:
            self.resources[f"scripts/{function.__name__}.py"] = script_text(function, dependencies)
            return function

        return add if function is None else add(function)

    @overload
    def tool(self, function: Function) -> Function: ...
    @overload
    def tool(
        self, function: None = None, *, effect: Effect = Effect.ACTS, asks: bool = False
    ) -> Callable[[Function], Function]: ...
    def tool(self, function: Any = None, *, effect: Effect = Effect.ACTS, asks: bool = False) -> Any:
        """A decorator: the function is a tool while the skill is in use."""

        def add(function: Function) -> Function:
            self.tools.append(as_tool(tool(effect=effect, asks=asks)(function)))
            return function

        return add if function is None else add(function)

    def write(self, folder: Path) -> list[str]:
        """Write the skill as a folder beneath `folder`; return its files. Tools stay in the program."""
        fields = {"name": self.name, "description": self.description, **self.fields}
        header = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())
        texts = {"SKILL.md": f"---\n{header}---\n\n{_text(self.instructions)}\n", **self.resources}
        for path, text in texts.items():
            file = folder.joinpath(self.name, *safe_parts(path, folder))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_text(text), encoding="utf-8")
        return sorted(texts)


class PythonSkills:
    """Skills of a program: `attach` makes them a source of a manager, and their functions tools."""

    def __init__(self, *skills: PythonSkill) -> None:
        self.skills = {canonical_name(skill.name): skill for skill in skills}
        self.folder = real_path(Path(tempfile.mkdtemp(prefix="skillkit-python-")))
        self._digests: dict[str, str] = {}
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def skill(
        self, description: str, *, name: str = "", **fields: Any
    ) -> Callable[[Callable[[], str]], PythonSkill]:
        """A decorator: the function returns the instructions of a skill that is called like it."""

        def add(function: Callable[[], str]) -> PythonSkill:
            made = PythonSkill(name or canonical_name(function.__name__), description, function, **fields)
            self.skills[canonical_name(made.name)] = made
            return made

        return add

    def attach(self, manager: SkillManager) -> None:
        """Add the skills to `manager`, after all others in precedence."""
        self.write()
        manager.sources.append(SkillSource(SourceType.CUSTOM, self.folder, PRIORITY_LAST, label="python"))
        manager.authority = _PythonSkillAuthority(self, manager.authority)
        manager.tool_sources.append(self)
        manager.refresh()

    def write(self) -> None:
        """Write the skills down as they are now; call it, and `refresh`, after a change."""
        for skill in self.skills.values():
            shutil.rmtree(self.folder / skill.name, ignore_errors=True)
            skill.write(self.folder)
            self._digests[skill.name] = tree_digests.plain(self.folder / skill.name).digest

    def owns(self, skill: SkillMetadata) -> bool:
        """Whether it is one of these, exactly as it was written."""
        if not skill.base_dir.is_relative_to(self.folder):
            return False
        return tree_digests.plain(skill.base_dir).digest == self._digests.get(skill.name)

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        """The functions of those that are in use."""
        active = {canonical_name(identity.rpartition(":")[2]) for identity in session.active_ids}
        return tuple(each for name, skill in self.skills.items() if name in active for each in skill.tools)


class _PythonSkillAuthority(WrappedAuthority):
    """Trusts the program's own skills as they were written; everything else `base` decides."""

    def __init__(self, skills: PythonSkills, base: Authority) -> None:
        super().__init__(base)
        self._skills = skills

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        refused = self.base.offer_refusal(skill, requester)
        if refused is not None and refused.code == "untrusted" and self._skills.owns(skill):
            return None
        return refused


def python_skill(file: Path, name: str) -> PythonSkill:
    """Run a Python file and return the skill that it defines under `name`."""
    sys.path.insert(0, str(file.parent))  # as Python does for the file that it runs
    try:
        defined = {skill.name: skill for skill in _skills_in(runpy.run_path(str(file)).values())}
    except Exception as error:
        raise ConfigurationError(f"{file} cannot be run: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(file.parent))
    if name not in defined:
        found = f"it defines {', '.join(sorted(defined))}" if defined else "it defines none"
        raise ConfigurationError(f"{file} has no PythonSkill called '{name}': {found}", "name")
    return defined[name]


def _skills_in(values: Iterable[object]) -> Iterator[PythonSkill]:
    for value in values:
        if isinstance(value, PythonSkill):
            yield value
        elif isinstance(value, PythonSkills):
            yield from value.skills.values()


def _text(given: Text) -> str:
    return given if isinstance(given, str) else given()
