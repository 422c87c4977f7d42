"""AGENT_SKILLS: which of the skills that were found the user wants."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.models import SkillMetadata
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
        """AGENT_SKILLS if it is set, even to nothing; else what `agent skill enable` chose."""
        environment = os.environ if environment is None else environment
        if VARIABLE in environment:
            return Selection.parse(environment[VARIABLE])
        return Selection.parse(registry.load().selection)

    def includes(self, skill: SkillMetadata) -> bool:
        if self.mode == "names":
            return skill.canonical_name in self.names
        return self.mode != "none"

    def with_skill(self, skill: SkillMetadata) -> "Selection":
        """The same with one more; where all are wanted there is nothing to add."""
        if self.mode in ("all", "all-untrusted"):
            return self
        return Selection("names", self.names | {skill.canonical_name})

    def without_skill(self, name: str, everything: Iterable[SkillMetadata]) -> "Selection":
        """The same with one less; of `all`, which are `everything`, the others stay by name."""
        whole = self.mode in ("all", "all-untrusted")
        names = frozenset(skill.canonical_name for skill in everything) if whole else self.names
        left = names - {canonical_name(name)}
        return Selection("names", left) if left else Selection("none")

    def __str__(self) -> str:
        return ",".join(sorted(self.names)) if self.mode == "names" else self.mode


def change_selection(registry: InstallRegistry, change: Callable[[Selection], Selection]) -> Selection:
    """Change what is enabled on this machine; two programs that do so at once lose nothing."""
    with registry.transaction() as state:
        selection = change(Selection.parse(state.selection))
        state.selection = str(selection)
    return selection
