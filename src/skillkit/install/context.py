"""What looking at and changing installed skills needs: the registry, the sources, and whom to ask."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.names import canonical_name
from skillkit.install.exceptions import ConsentError, reporting_disk_errors
from skillkit.install.plan import Plan, offer_of
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
            on_wait=lambda: progress("Waiting for another agent that is installing"),
            journal=journal,
        )
        self.home = self.registry.home
        self.store = self.registry.store
        self.progress = progress
        self.access = access or Access(progress)

    @reporting_disk_errors()
    def list(self) -> Skills:
        """Every installed skill, by name."""
        return self.registry.list()

    def files(self, skill: InstalledSkill) -> SkillTree:
        """The files of an installed skill as they are now."""
        return read_folder(self.store.path(skill.stored), ANY_SIZE)

    def offer(
        self, plan: Plan, old: InstalledSkill | None = None, notes: tuple[str, ...] = ()
    ) -> ProposedSkill:
        """The facts about a skill among those that are installed."""
        return offer_of(plan, self.store, self.registry.load().skills, old, notes)

    def ask(self, proposal: Proposal) -> None:
        if not self.consent(proposal):
            names = ", ".join(offer.name for offer in proposal.offers)
            raise ConsentError(f"Not done: {proposal.action} {names} was declined.")

    def install(self, state: RegistryState, plan: Plan) -> InstalledSkill:
        """Write the files and say in `state` that they are what is installed, and approved."""
        old = state.skills.get(plan.skill.name_canonical)
        skill = replace(plan.skill, trusted_digest=plan.skill.digest)
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
        """`skill` as it is on disk: with local edits it becomes a version of its own, untrusted."""
        path = self.store.path(skill.stored)
        now = self.store.digest(path)
        if now is None or now.digest == skill.digest:
            return skill
        edited = replace(skill, digest=now.digest, files=now.files, trusted_digest=None, revision=None)
        tree = read_folder(path, ANY_SIZE)
        stored = self.store.put(tree, skill.name_canonical, edited.to_data())
        return replace(edited, stored=stored)
