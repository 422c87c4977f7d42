"""Shared context of installer operations: the registry, the sources and the consent callback."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.names import canonical_name
from skillkit.install.exceptions import ConsentError, reporting_disk_errors
from skillkit.install.fetch import LoadedSkill
from skillkit.install.plan import offer_of
from skillkit.install.proposal import AskConsent, Proposal, ProposedSkill, refuse_unattended
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry
from skillkit.install.registry_state import MAX_PREVIOUS, RegistryState
from skillkit.install.sources.source import Access
from skillkit.install.tree import ANY_SIZE, SkillTree, TreeLimits, read_folder

Skills = list[InstalledSkill]  # inside the class `list` is the method of that name


class InstallContext:
    """The registry with its store, and the user's limits, progress and consent."""

    def __init__(
        self,
        home: Path | None = None,
        *,
        consent: AskConsent = refuse_unattended,
        limits: TreeLimits | None = None,
        progress: Callable[[str], object] = lambda text: None,
        access: Access | None = None,
        registry: InstallRegistry | None = None,
        journal: Writer = NO_JOURNAL,
    ) -> None:
        """`consent` is asked before anything changes."""
        self.consent = consent
        self.limits = limits or TreeLimits()
        self.registry = registry or InstallRegistry(
            home,
            on_wait=lambda: progress("Waiting for another installation to finish"),
            journal=journal,
        )
        self.home = self.registry.home
        self.store = self.registry.store
        self.progress = progress
        self.access = access or Access(progress)

    @reporting_disk_errors()
    def list(self) -> Skills:
        """Return every installed skill, by name."""
        return self.registry.list()

    def files(self, skill: InstalledSkill) -> SkillTree:
        """Return the current files of an installed skill."""
        return read_folder(self.store.path(skill.stored), ANY_SIZE)

    def offer(
        self, plan: LoadedSkill, old: InstalledSkill | None = None, notes: tuple[str, ...] = ()
    ) -> ProposedSkill:
        """Describe a skill relative to the installed ones."""
        return offer_of(plan, self.store, self.registry.load().skills, old, notes)

    def ask(self, proposal: Proposal) -> None:
        if not self.consent(proposal):
            names = ", ".join(offer.name for offer in proposal.offers)
            raise ConsentError(f"Not done: {proposal.action} {names} was declined.")

    def install(self, state: RegistryState, plan: LoadedSkill) -> InstalledSkill:
        """Write the files and record them in `state` as installed and approved."""
        old = state.skills.get(plan.skill.name_canonical)
        skill = replace(
            plan.skill,
            installed_path=str(self.store.link(plan.skill.name_canonical)),
            installed_at=self.registry.now().isoformat(timespec="seconds"),
            trusted_digest=plan.skill.digest,
        )
        if old is not None:
            needs = skill.needs or tuple(map(canonical_name, plan.metadata.requires.skills))
            skill = replace(skill, came_for=old.came_for, needs=needs)
            older = (self.preserved(old), *old.previous)
            distinct = {version.digest: version for version in reversed(older)}
            distinct.pop(skill.digest, None)
            kept = tuple(reversed(distinct.values()))[:MAX_PREVIOUS]
            skill = replace(skill, previous=tuple(replace(item, previous=()) for item in kept))
        stored = self.store.put(plan.tree, skill.name_canonical, skill.to_data())
        skill = replace(skill, stored=stored)
        state.skills[skill.name_canonical] = skill
        return skill

    def preserved(self, skill: InstalledSkill) -> InstalledSkill:
        """Return `skill` as it is on disk; local edits become a separate, untrusted version."""
        path = self.store.path(skill.stored)
        now = self.store.digest(path)
        if now is None or now.digest == skill.digest:
            return skill
        edited = replace(skill, digest=now.digest, files=now.files, trusted_digest=None, revision=None)
        tree = read_folder(path, ANY_SIZE)
        stored = self.store.put(tree, skill.name_canonical, edited.to_data())
        return replace(edited, stored=stored)
