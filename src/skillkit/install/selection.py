"""AGENT_SKILLS: the user's selection among the discovered skills."""

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
    """The selected skills, in the syntax of AGENT_SKILLS."""

    mode: Mode
    names: frozenset[str] = frozenset()
    """Canonical names."""
    by_variable: bool = field(default=False, compare=False)
    """Whether AGENT_SKILLS is set and overrides the stored selection."""

    @staticmethod
    def parse(text: str | None) -> "Selection":
        word = (text or "").strip()
        for mode in _STAND_ALONE:
            if word.lower() == mode:
                return Selection(mode)
        names = frozenset(canonical_name(name) for name in word.split(",") if name.strip())
        if alone := sorted(names.intersection(_STAND_ALONE)) if len(names) > 1 else []:
            raise ConfigurationError(
                f"{VARIABLE}={word}: '{alone[0]}' must be the only value. Set it alone, or list names",
                VARIABLE,
            )
        return Selection("names", names) if names else Selection("none")

    @staticmethod
    def current(registry: InstallRegistry, environment: Mapping[str, str] | None = None) -> "Selection":
        """Return AGENT_SKILLS if it is set, even to nothing; else the stored selection."""
        environment = os.environ if environment is None else environment
        if VARIABLE in environment:
            return replace(Selection.parse(environment[VARIABLE]), by_variable=True)
        return Selection.parse(registry.load().selection)

    def includes(self, skill: SkillMetadata) -> bool:
        if self.mode == "names":
            return skill.canonical_name in self.names
        return self.mode != "none"

    def with_names(self, names: Iterable[str]) -> "Selection":
        """Return the selection plus `names`; unchanged where all skills are selected."""
        if self.mode in ("all", "all-untrusted"):
            return self
        return Selection("names", self.names.union(map(canonical_name, names)))

    def without_names(self, names: Iterable[str], everything: Iterable[SkillMetadata]) -> "Selection":
        """Return the selection without `names`; of `all`, the rest of `everything` stays by name."""
        whole = self.mode in ("all", "all-untrusted")
        chosen = frozenset(skill.canonical_name for skill in everything) if whole else self.names
        left = chosen.difference(map(canonical_name, names))
        return Selection("names", left) if left else Selection("none")

    def remedy(self, *skills: SkillMetadata, trusted: bool = True) -> str:
        """Return the command that makes the inactive `skills` active."""
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
        """Return the selection and its origin: `AGENT_SKILLS=all`, `enabled: csv-report`."""
        return f"{VARIABLE}={self}" if self.by_variable else f"enabled: {self}"

    def __str__(self) -> str:
        return ",".join(sorted(self.names)) if self.mode == "names" else self.mode


def change_selection(registry: InstallRegistry, change: Callable[[Selection], Selection]) -> Selection:
    """Change the stored selection; safe when two programs do so at once."""
    with registry.transaction() as state:
        selection = change(Selection.parse(state.selection))
        state.selection = str(selection)
    return selection


def shown_path(skill: SkillMetadata) -> str:
    """Return the folder of a skill as a shell word that cannot be read as a repository."""
    near = os.path.relpath(skill.base_dir)
    return shlex.quote(str(skill.base_dir) if near.startswith("..") else f"./{near}" if near != "." else near)
