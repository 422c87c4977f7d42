"""Asking the user, writing what they said yes to, and what they approve or take back of what is here."""

from dataclasses import replace

from skillkit.core.digest_memo import MAX_BYTES, MAX_FILES
from skillkit.core.disk import real_path
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.added_sources import REMOTE_FOLDER
from skillkit.install.consents import Consent, ConsentKind
from skillkit.install.exceptions import ConsentError, DriftError, reporting_disk_errors
from skillkit.install.inspection import InstallInspector
from skillkit.install.plan import Plan, offer, offer_of, refuse_edits
from skillkit.install.proposal import Proposal, ProposedSkill
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import MAX_PREVIOUS, RegistryState
from skillkit.install.tree import ANY_SIZE, TreeLimits, read_folder


class TrustingInspector(InstallInspector):
    """Looks at what is installed and asks whether it is trusted."""

    @reporting_disk_errors()
    def trust(self, name: str, *, pinned: str | None = None) -> InstalledSkill:
        """Approve an installed skill as it is now, after its card was shown."""
        info = self.info(name)
        refuse_edits(info.skill, info.edits, "; what would be approved is not what was installed.")
        if info.skill.trusted:
            return info.skill
        plan = Plan(info.skill, info.tree, info.metadata)
        self._ask(Proposal("trust", (self._offer(plan),), pinned == info.skill.digest))
        return self._set_trust(info.skill, info.skill.digest)

    @reporting_disk_errors()
    def revoke(self, name: str) -> InstalledSkill:
        """Take the approval of an installed skill back."""
        return self._set_trust(self.registry.get(name), None)

    def _set_trust(self, skill: InstalledSkill, digest: str | None) -> InstalledSkill:
        with self.registry.transaction() as state:
            current = state.get(skill.name)
            if current.digest != skill.digest:
                raise DriftError(f"'{skill.name}' was changed by another process. Try again.")
            changed = replace(current, trusted_digest=digest)
            state.skills[changed.name_canonical] = changed
            return changed

    @reporting_disk_errors()
    def trust_folder(self, skill: SkillMetadata, *, pinned: str | None = None) -> str:
        """Approve a skill in a project folder by the digest of its bytes; return the digest."""
        tree = read_folder(skill.base_dir, TreeLimits(MAX_FILES, MAX_BYTES))
        digest = tree.digest.digest
        self._refuse_announced(skill, digest)
        if digest not in self.registry.consents.digests(ConsentKind.USE):
            origin = escape_hidden(str(skill.base_dir))
            known = self.registry.load().skills
            card = offer(tree, skill, known, name=skill.name, origin=origin)
            self._ask(Proposal("trust", (card,), pinned == digest))
            given = Consent(ConsentKind.USE, digest, skill.canonical_name, str(skill.base_dir))
            self.registry.consents.grant(given)
        return digest

    def _refuse_announced(self, skill: SkillMetadata, digest: str) -> None:
        """A skill that an MCP server only announced is a header here: its text was seen by nobody."""
        remote = skill.base_dir.is_relative_to(real_path(self.home / REMOTE_FOLDER))
        if remote and digest not in self.registry.consents.digests(ConsentKind.REMOTE):
            server = (skill.source_label or "").removeprefix("mcp-")
            raise ConsentError(
                f"'{skill.name}' is announced by the MCP server '{server}' and not fetched: "
                "add that source again and agree to what is fetched"
            )

    @reporting_disk_errors()
    def revoke_folder(self, digest: str) -> bool:
        """Take the approval of a skill in a project folder back; return False when there was none."""
        gone = self.registry.consents.revoke(
            where=lambda each: each.kind is ConsentKind.USE and each.digest == digest
        )
        return bool(gone)

    def _offer(
        self, plan: Plan, old: InstalledSkill | None = None, notes: tuple[str, ...] = ()
    ) -> ProposedSkill:
        """The facts about a skill among those that are installed."""
        return offer_of(plan, self.store, self.registry.load().skills, old, notes)

    def _ask(self, proposal: Proposal) -> None:
        if not self.consent(proposal):
            names = ", ".join(offer.name for offer in proposal.offers)
            raise ConsentError(f"Not done: {proposal.action} {names} was declined.")

    def _install(self, state: RegistryState, plan: Plan) -> InstalledSkill:
        """Write the files and say in `state` that they are what is installed, and approved."""
        old = state.skills.get(plan.skill.name_canonical)
        skill = replace(plan.skill, trusted_digest=plan.skill.digest)
        if old is not None:
            needs = skill.needs or tuple(map(canonical_name, plan.metadata.requires.skills))
            skill = replace(skill, came_for=old.came_for, needs=needs)
            older = (self._preserved(old), *old.previous)
            distinct = {version.digest: version for version in reversed(older)}
            distinct.pop(skill.digest, None)
            kept = tuple(reversed(distinct.values()))[:MAX_PREVIOUS]
            skill = replace(skill, previous=tuple(replace(item, previous=()) for item in kept))
        stored = self.store.put(plan.tree, skill.name_canonical, skill.to_data())
        skill = replace(skill, stored=stored)
        state.skills[skill.name_canonical] = skill
        return skill

    def _preserved(self, skill: InstalledSkill) -> InstalledSkill:
        """`skill` as it is on disk: with local edits it becomes a version of its own, untrusted."""
        path = self.store.path(skill.stored)
        now = self.store.digest(path)
        if now is None or now.digest == skill.digest:
            return skill
        edited = replace(skill, digest=now.digest, files=now.files, trusted_digest=None, revision=None)
        tree = read_folder(path, ANY_SIZE)
        stored = self.store.put(tree, skill.name_canonical, edited.to_data())
        return replace(edited, stored=stored)
