"""Skills written in Python: instructions, files and functions, in the same catalogue as skills in folders."""

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

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

Text = str | Callable[[], str]
Function = TypeVar("Function", bound=Callable[..., Any])


class PythonSkill:
    """A skill as an object: `instructions`, `resources` by path, functions as tools, header `fields`.

    A text may be a function that returns it; it is called when the skill is written down.
    """

    def __init__(
        self,
        name: str,
        description: str,
        instructions: Text,
        *,
        resources: Mapping[str, Text] | None = None,
        tools: tuple[Callable[..., Any], ...] = (),
        **fields: object,
    ) -> None:
        if (problem := name_refusal(name)) is not None:
            raise ConfigurationError(f"A skill cannot be called {name!r}: it {problem}", "name")
        self.name = name
        self.description = description
        self.instructions = instructions
        self.resources: dict[str, Text] = dict(resources or {})
        self.fields = fields
        self.tools: list[Tool] = [as_tool(function) for function in tools]

    def resource(self, path: str) -> Callable[[Function], Function]:
        """A decorator: the function returns the text of the file `path`."""

        def add(function: Function) -> Function:
            self.resources[path] = function
            return function

        return add

    def tool(self, *, effect: Effect = Effect.ACTS, asks: bool = False) -> Callable[[Function], Function]:
        """A decorator: the function is a tool while the skill is in use."""

        def add(function: Function) -> Function:
            self.tools.append(as_tool(tool(effect=effect, asks=asks)(function)))
            return function

        return add

    def write(self, folder: Path) -> None:
        """Write the skill as a folder beneath `folder`."""
        header = json.dumps({"name": self.name, "description": self.description, **self.fields})
        texts = {"SKILL.md": f"---\n{header}\n---\n{_text(self.instructions)}\n", **self.resources}
        for path, text in texts.items():
            file = folder.joinpath(self.name, *safe_parts(path, folder))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_text(text), encoding="utf-8")


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
        manager.authority = _OwnSkills(self, manager.authority)
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


class _OwnSkills(WrappedAuthority):
    """Trusts the program's own skills as they were written; everything else `base` decides."""

    def __init__(self, skills: PythonSkills, base: Authority) -> None:
        super().__init__(base)
        self._skills = skills

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        refused = self.base.offer_refusal(skill, requester)
        if refused is not None and refused.code == "untrusted" and self._skills.owns(skill):
            return None
        return refused


def _text(given: Text) -> str:
    return given if isinstance(given, str) else given()
