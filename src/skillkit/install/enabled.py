"""Which of the skills that were found are active: AGENT_SKILLS, what was enabled, and trust."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillkit.core.availability import Refusal, unavailable
from skillkit.core.manager import SkillManager
from skillkit.core.models import Diagnostic, Severity, SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry
from skillkit.install.trust import Standing, TrustJudge, TrustStore

VARIABLE = "AGENT_SKILLS"
NO_TRUSTED = (
    "No trusted skills installed. Install skills with 'agent skill add' or use AGENT_SKILLS=all-untrusted"
)
Mode = Literal["none", "all", "all-untrusted", "names"]


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user wants loaded, in the words of AGENT_SKILLS."""

    mode: Mode
    names: frozenset[str] = frozenset()
    """Canonical names."""

    @staticmethod
    def parse(text: str | None) -> "Selection":
        word = (text or "").strip()
        if word.lower() in ("", "none"):
            return Selection("none")
        if word.lower() == "all":
            return Selection("all")
        if word.lower() == "all-untrusted":
            return Selection("all-untrusted")
        names = frozenset(canonical_name(name) for name in word.split(",") if name.strip())
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

    def __str__(self) -> str:
        return ",".join(sorted(self.names)) if self.mode == "names" else self.mode


class EnabledPolicy:
    """Refuses what is not selected and what is not trusted; a policy for SkillManager."""

    def __init__(self, selection: Selection, judge: TrustJudge) -> None:
        self.selection = selection
        self.judge = judge

    def refusal(self, skill: SkillMetadata, standing: Standing | None = None) -> Refusal | None:
        """Why `skill` is not active; `standing` is what the judge said of it, if it was asked already."""
        if not self.selection.includes(skill):
            return Refusal(
                "disabled",
                f"Skill '{skill.name}' is not active. To enable: export {VARIABLE}={skill.canonical_name}",
            )
        if self.selection.mode == "all-untrusted":
            return None
        standing = standing or self.judge.standing(skill)
        if standing.trusted:
            return None
        return Refusal(
            "untrusted",
            f"Skill '{skill.name}' is not trusted: {standing.reason}. "
            f"Look at it and approve it with: agent skill trust {skill.canonical_name}",
        )


@dataclass(frozen=True, slots=True)
class SkillStatus:
    """One line of `agent --check`."""

    skill: SkillMetadata
    refusal: Refusal | None
    standing: Standing
    installed: InstalledSkill | None

    @property
    def active(self) -> bool:
        return self.refusal is None

    @property
    def scripts(self) -> tuple[str, ...]:
        """Names of the scripts it offers."""
        from skillkit.scripts.catalogue import find_scripts

        return tuple(script.name for script in find_scripts(self.skill))


@dataclass(frozen=True, slots=True)
class ActivationReport:
    """What is active, what is not, what failed, and what to do about it."""

    selection: Selection
    skills: tuple[SkillStatus, ...]
    failed: tuple[Diagnostic, ...]
    hint: str = ""

    @property
    def active(self) -> tuple[SkillStatus, ...]:
        return tuple(status for status in self.skills if status.active)


class EnabledSkills:
    """A SkillManager that obeys AGENT_SKILLS and the user's trust, and can say why."""

    def __init__(
        self,
        home: Path | None = None,
        *,
        search: Iterable[Path | str] = (),
        bundled: bool = True,
        environment: Mapping[str, str] | None = None,
        selection: Selection | None = None,
    ) -> None:
        self.registry = InstallRegistry(home)
        self.selection = selection or Selection.current(self.registry, environment)
        self.by_variable = VARIABLE in (os.environ if environment is None else environment)
        """Whether AGENT_SKILLS decides, or what `agent skill enable` chose."""
        self.judge = TrustJudge(self.registry, TrustStore(self.registry.home))
        self.policy = EnabledPolicy(self.selection, self.judge)
        self.manager = SkillManager(
            additional_search_paths=list(search),
            default_sources=True,
            bundled=bundled,
            policy=self.policy,
            rename=installed_names(self.registry),
        )
        self.manager.discover()

    def status(self, skill: SkillMetadata) -> SkillStatus:
        standing = self.judge.standing(skill)
        return SkillStatus(
            skill=skill,
            refusal=self.policy.refusal(skill, standing) or unavailable(skill),
            standing=standing,
            installed=self.judge.installed(skill),
        )

    def report(self) -> ActivationReport:
        """Everything `agent --check` shows."""
        skills = tuple(self.status(skill) for skill in self.manager.list_skills())
        failed = tuple(found for found in self.manager.diagnostics if found.severity is Severity.ERROR)
        return ActivationReport(self.selection, skills, failed, self._hint(skills))

    def missing(self) -> str:
        """Names that are wanted and that no skill has, as a sentence; empty when there is none."""
        missing = self.selection.names - {skill.canonical_name for skill in self.manager.list_skills()}
        if not missing:
            return ""
        shown = escape_hidden(", ".join(sorted(missing)))
        if self.by_variable:
            return f"{VARIABLE} names skills that were not found: {shown}"
        first = escape_hidden(min(missing))
        return f"Enabled, but not found: {shown}. To forget it: agent skill disable {first}"

    def _hint(self, skills: tuple[SkillStatus, ...]) -> str:
        if self.selection.mode == "all" and not any(status.active for status in skills):
            return NO_TRUSTED
        if missing := self.missing():
            return missing
        refused = [
            status.skill.canonical_name
            for status in skills
            if self.selection.mode == "names" and status.refusal and status.refusal.code == "untrusted"
        ]
        if refused:
            return f"To approve what is wanted and not trusted: agent skill trust {refused[0]}"
        disabled = [status for status in skills if status.refusal and status.refusal.code == "disabled"]
        trusted = [status for status in disabled if status.standing.trusted]
        if trusted:
            names = [status.skill.canonical_name for status in skills if status.active]
            return f"To enable: export {VARIABLE}={','.join([*names, trusted[0].skill.canonical_name])}"
        if disabled:
            name = disabled[0].skill.canonical_name
            return f"To enable: agent skill trust {name}, then export {VARIABLE}={name}"
        return ""


def installed_names(registry: InstallRegistry) -> Callable[[SkillMetadata], str | None]:
    """What a skill is called that was installed under another name than its own."""
    renamed = {name: skill.name for name, skill in registry.load().skills.items() if skill.declared_name}
    links = os.path.realpath(registry.store.links)

    def rename(skill: SkillMetadata) -> str | None:
        if renamed and os.path.realpath(skill.base_dir.parent) == links:
            return renamed.get(skill.base_dir.name)
        return None

    return rename
