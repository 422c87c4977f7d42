"""AGENT_SKILLS: which of the skills that were found the user wants."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.names import canonical_name
from skillkit.install.registry import InstallRegistry

VARIABLE = "AGENT_SKILLS"
Mode = Literal["none", "all", "all-untrusted", "names"]


_STAND_ALONE: tuple[Mode, ...] = ("all", "all-untrusted", "none")


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user wants loaded, in the words of AGENT_SKILLS."""

    mode: Mode
    names: frozenset[str] = frozenset()
    """Canonical names."""
    by_variable: bool = field(default=False, compare=False)
    """Whether AGENT_SKILLS says so, or what was added and enabled before."""

    @staticmethod
    def parse(text: str | None) -> "Selection":
        word = (text or "").strip()
        for mode in _STAND_ALONE:
            if word.lower() == mode:
                return Selection(mode)
        names = frozenset(canonical_name(name) for name in word.split(",") if name.strip())
        if alone := sorted(names.intersection(_STAND_ALONE)) if len(names) > 1 else []:
            raise ConfigurationError(
                f"{VARIABLE}={word}: '{alone[0]}' stands alone. Set it to that, or to names with commas",
                VARIABLE,
            )
        return Selection("names", names) if names else Selection("none")

    @staticmethod
    def current(registry: InstallRegistry, environment: Mapping[str, str] | None = None) -> "Selection":
        """AGENT_SKILLS if it is set, even to nothing; else what was added and enabled."""
        environment = os.environ if environment is None else environment
        if VARIABLE in environment:
            return replace(Selection.parse(environment[VARIABLE]), by_variable=True)
        return Selection.parse(registry.load().selection)

    def includes(self, skill: SkillMetadata) -> bool:
        if self.mode == "names":
            return skill.canonical_name in self.names
        return self.mode != "none"

    def with_names(self, names: Iterable[str]) -> "Selection":
        """The same with more skills; where all are wanted there is nothing to add."""
        if self.mode in ("all", "all-untrusted"):
            return self
        return Selection("names", self.names.union(map(canonical_name, names)))

    def without_names(self, names: Iterable[str], everything: Iterable[SkillMetadata]) -> "Selection":
        """The same with fewer skills; of `all`, which are `everything`, the others stay by name."""
        whole = self.mode in ("all", "all-untrusted")
        chosen = frozenset(skill.canonical_name for skill in everything) if whole else self.names
        left = chosen.difference(map(canonical_name, names))
        return Selection("names", left) if left else Selection("none")

    def remedy(self, *skills: SkillMetadata, trusted: bool = True) -> str:
        """Return the one command that makes `skills` active, which they are not."""
        if skills[0].source is SourceType.CUSTOM:
            return f"agent skill add {shown_path(skills[0])}"
        names = " ".join(shlex.quote(skill.canonical_name) for skill in skills)
        approve = "" if trusted else f"agent skill trust {names}"
        if all(map(self.includes, skills)) or (approve and not self.by_variable):
            return approve
        if not self.by_variable:
            return f"agent skill enable {names}"
        value = str(self.with_names(skill.canonical_name for skill in skills))
        export = f"export {VARIABLE}={shlex.quote(value)}"
        return f"{export} && {approve}" if approve else export

    @property
    def origin(self) -> str:
        """What is wanted and where that is said: `AGENT_SKILLS=all`, `enabled: csv-report`."""
        return f"{VARIABLE}={self}" if self.by_variable else f"enabled: {self}"

    def __str__(self) -> str:
        return ",".join(sorted(self.names)) if self.mode == "names" else self.mode


def change_selection(registry: InstallRegistry, change: Callable[[Selection], Selection]) -> Selection:
    """Change what is enabled on this machine; two programs that do so at once lose nothing."""
    with registry.transaction() as state:
        selection = change(Selection.parse(state.selection))
        state.selection = str(selection)
    return selection


def shown_path(skill: SkillMetadata) -> str:
    """Return the folder of a skill as a word of a shell, in a form that no repository has."""
    near = os.path.relpath(skill.base_dir)
    return shlex.quote(str(skill.base_dir) if near.startswith("..") else f"./{near}" if near != "." else near)
