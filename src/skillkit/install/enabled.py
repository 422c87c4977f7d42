"""Decide which discovered skills are active: AGENT_SKILLS, the stored selection and trust."""

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.availability import Refusal, unavailable
from skillkit.core.disk import real_path
from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.manager import SkillManager
from skillkit.core.models import Diagnostic, Severity, SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.added_sources import AddedSources
from skillkit.install.authority import Level, TrustStatus, UserAuthority
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry
from skillkit.install.selection import VARIABLE, Selection
from skillkit.install.team_policy import TeamAuthority


@dataclass(frozen=True, slots=True)
class SkillStatus:
    """The state of one discovered skill: active, trusted, refused."""

    skill: SkillMetadata
    refusal: Refusal | None
    trust: TrustStatus
    installed: InstalledSkill | None

    @property
    def active(self) -> bool:
        return self.refusal is None


@dataclass(frozen=True, slots=True)
class ActivationReport:
    """Active, inactive and failed skills, with remedies."""

    selection: Selection
    skills: tuple[SkillStatus, ...]
    failed: tuple[Diagnostic, ...]
    hint: str = ""

    @property
    def active(self) -> tuple[SkillStatus, ...]:
        return tuple(status for status in self.skills if status.active)


class EnabledSkills:
    """A SkillManager that applies AGENT_SKILLS and the user's trust, and explains the result."""

    def __init__(
        self,
        home: Path | None = None,
        *,
        search: Iterable[Path | str] = (),
        bundled: bool = True,
        environment: Mapping[str, str] | None = None,
        selection: Selection | None = None,
        journal: Writer = NO_JOURNAL,
        hidden: tuple[str, ...] = (),
        recovered: bool = False,
    ) -> None:
        """`recovered` also finds skills whose header is invalid; none of them is active."""
        self.registry = InstallRegistry(home, journal=journal)
        self.selection = selection or Selection.current(self.registry, environment)
        self.authority = UserAuthority(self.registry, self.selection, hidden)
        self.team = TeamAuthority(self.authority, self.registry.home)
        added = AddedSources(self.registry.home)
        self.manager = SkillManager(
            additional_search_paths=list(search),
            packages=added.packages,
            default_sources=True,
            bundled=bundled,
            offer_recovered=recovered or installed_folders(self.registry),
            mcp_servers=(),  # the program hands on tools of skills, and none of servers
            authority=self.team,
            journal=journal,
            rename=installed_names(self.registry),
        )
        self.manager.sources += added.remote()
        self.manager.discover()

    def status(self, skill: SkillMetadata) -> SkillStatus:
        trust = self.authority.trust(skill)
        return SkillStatus(
            skill=skill,
            refusal=(
                self._invalid(skill)
                or self.team.team_refusal(skill)
                or self.authority.refusal_by(skill, trust)
                or unavailable(skill, self.manager.find_skill, self.manager.mcp_servers)
            ),
            trust=trust,
            installed=self.authority.installed(skill),
        )

    def _invalid(self, skill: SkillMetadata) -> Refusal | None:
        if not skill.recovered or self.authority.installed(skill):
            return None
        return Refusal("unavailable", f"The header of skill '{skill.name}' is invalid, so it is skipped")

    def report(self) -> ActivationReport:
        """Return every skill with its state, the failures and their remedies."""
        skills = tuple(self.status(skill) for skill in self.manager.list_skills())
        return ActivationReport(self.selection, skills, self._failed(), self._hint(skills))

    def missing(self) -> str:
        """Return a sentence about enabled names that no skill has; empty if there are none."""
        found = {skill.canonical_name for skill in self.manager.list_skills()}
        broken = {canonical_name(problem.path.parent.name) for problem in self._failed()}
        missing = self.selection.names - found - broken
        if not missing:
            return ""
        shown = escape_hidden(", ".join(sorted(missing)))
        if self.selection.by_variable:
            return f"{VARIABLE} names skills that were not found: {shown}"
        names = escape_hidden(" ".join(map(shlex.quote, sorted(missing))))
        return f"Enabled, but not found: {shown}. To forget: agent skill disable {names}"

    def _failed(self) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.manager.diagnostics if found.severity is Severity.ERROR)

    def _hint(self, skills: tuple[SkillStatus, ...]) -> str:
        if self.selection.mode == "all" and not any(status.active for status in skills):
            return (
                f"No trusted skills installed. Install skills with 'agent skill add' or use "
                f"{VARIABLE}=all-untrusted"
            )
        if missing := self.missing():
            return missing
        if self.selection.mode == "all":
            return ""
        wanted = ("untrusted", False), ("disabled", True), ("disabled", False)
        reasons = {
            (status.refusal.code, status.trust.level >= Level.OFFERED): status.refusal.reason
            for status in reversed(skills)
            if status.refusal is not None and status.refusal.remedy
        }
        return next((reasons[state] for state in wanted if state in reasons), "")


def installed_folders(registry: InstallRegistry) -> Callable[[Path], bool]:
    """Return a predicate for installed folders, whose header problems the user has seen."""
    folders = {registry.store.links / name for name in registry.load().skills}
    return folders.__contains__


def installed_names(registry: InstallRegistry) -> Callable[[SkillMetadata], str | None]:
    """Return a function that gives the installed name of a skill, if it differs from its own."""
    renamed = {name: skill.name for name, skill in registry.load().skills.items() if skill.declared_name}
    links = real_path(registry.store.links)

    def rename(skill: SkillMetadata) -> str | None:
        if renamed and real_path(skill.base_dir.parent) == links:
            return renamed.get(skill.base_dir.name)
        return None

    return rename
