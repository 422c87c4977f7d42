"""UserAuthority: decides about skills by the user's selection and consents."""

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pathlib import Path

from skillkit.core.authority import Requester
from skillkit.core.availability import Refusal
from skillkit.core.digest_memo import tree_digests
from skillkit.core.disk import real_path, user_home
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Grants
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.shipped import is_as_shipped
from skillkit.install.clients import shared_folders
from skillkit.install.consents import ConsentKind, add_parts
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry
from skillkit.install.selection import Selection


class Level(IntEnum):
    """A trust level; each includes the ones before it."""

    FOUND = 0
    """Listed; nothing of it reaches a model."""
    OFFERED = 1
    """Its text may reach a model, and its scripts run in a sandbox with nothing in it."""
    GRANTED = 2
    """Variables, hosts, secrets, network and toolsets, as its header asks for them."""


@dataclass(frozen=True, slots=True)
class TrustStatus:
    """The trust level of a skill, and the reason."""

    level: Level
    reason: str
    digest: str | None = None

    @property
    def trusted(self) -> bool:
        return self.level is Level.GRANTED


class UserAuthority:
    """Decides by AGENT_SKILLS and by consents, which are bound to digests."""

    def __init__(
        self,
        registry: InstallRegistry,
        selection: Selection | None = None,
        hidden: tuple[str, ...] = (),
    ) -> None:
        self.registry = registry
        self.hidden = hidden
        """Names that scripts see in no project."""
        self.consents = registry.consents
        self.selection = selection or Selection("all")
        self._installed: tuple[object, dict[str, InstalledSkill]] = (None, {})
        self._real = lru_cache(256)(real_path)

    # Queries

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        return self.refusal_by(skill)

    def import_refusal(self, skill: SkillMetadata, digest: str, requester: Requester) -> Refusal | None:
        trust = self.trust(skill)
        if trust.trusted and trust.digest in (None, digest):
            return None
        return Refusal("untrusted", "the skill is not trusted; its code would run in this process")

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        """Return every requested grant if the skill is trusted, else an empty sandbox."""
        if self.import_refusal(skill, digest, requester) is None:
            return add_parts(Grants.as_requested(skill), digest, self.consents, hidden=self.hidden)
        return Grants(withheld_env=skill.permissions.env)

    # Status

    def installed(self, skill: SkillMetadata) -> InstalledSkill | None:
        """Return the record of an installed skill; None for a skill in another folder."""
        store = self.registry.store
        folder = skill.base_dir
        if self._real(folder.parent) != self._real(store.links) or store.linked(folder.name) is None:
            return None
        stamp = self.registry.stamp()
        if stamp != self._installed[0] or stamp is None:
            self._installed = (stamp, dict(self.registry.load().skills))
        return self._installed[1].get(folder.name)

    def trust(self, skill: SkillMetadata) -> TrustStatus:
        """Return the trust status of the current files of `skill`, whether or not it is selected."""
        if is_as_shipped(skill):
            return TrustStatus(Level.GRANTED, "comes with skillkit")
        record = self.installed(skill)
        if record is not None:
            return self._installed_trust(record, skill)
        if self._is_own(skill.base_dir):
            return TrustStatus(Level.GRANTED, "lies in your own folder")
        return self._folder_trust(skill)

    def refusal_by(self, skill: SkillMetadata, trust: TrustStatus | None = None) -> Refusal | None:
        """Return why a skill is not offered; pass `trust` to reuse its trust status."""
        trusted = trust is None or trust.level >= Level.OFFERED
        if not self.selection.includes(skill):
            remedy = self.selection.remedy(skill, trusted=trusted)
            return Refusal("disabled", f"Skill '{skill.name}' is not active. To enable: {remedy}", remedy)
        if self.selection.mode == "all-untrusted" or (trust is None and self._offered_by_place(skill)):
            return None
        trust = trust or self.trust(skill)
        if trust.level >= Level.OFFERED:
            return None
        remedy = self.selection.remedy(skill, trusted=False)
        approve = f"Look at it and approve it with: {remedy}"
        reason = f"Skill '{skill.name}' is not trusted: {trust.reason}. {approve}"
        return Refusal("untrusted", reason, remedy)

    def _is_own(self, folder: Path) -> bool:
        """Return whether the skill is in the user's own folder and not a link to another program's."""
        if not folder.is_relative_to(self._real(self.registry.store.links)):
            return False
        real = real_path(folder)
        return not any(real.is_relative_to(self._real(shared)) for shared in shared_folders())

    def _offered_by_place(self, skill: SkillMetadata) -> bool:
        """Return whether the skill is in a searched folder of the user, and not an installed one."""
        home, folder = user_home(), skill.base_dir
        places = (self.registry.store.links, home / ".agents/skills", home / ".claude/skills")
        lies_there = any(folder.is_relative_to(self._real(place)) for place in places)
        return lies_there and self.installed(skill) is None

    def _installed_trust(self, record: InstalledSkill, skill: SkillMetadata) -> TrustStatus:
        if record.digest not in self.consents.digests(ConsentKind.USE):
            return TrustStatus(Level.FOUND, "installed, not approved", record.digest)
        try:
            intact = tree_digests.plain(skill.base_dir).digest == record.digest
        except SkillsUseError:
            intact = False
        if not intact:
            return TrustStatus(Level.FOUND, "changed since it was approved", record.digest)
        return TrustStatus(Level.GRANTED, "approved", record.digest)

    def _folder_trust(self, skill: SkillMetadata) -> TrustStatus:
        by_place = self._offered_by_place(skill)
        unapproved = Level.OFFERED if by_place else Level.FOUND
        try:
            digest = tree_digests.plain(skill.base_dir).digest
        except SkillsUseError as error:
            return TrustStatus(unapproved, f"cannot be approved: {error}")
        if digest in self.consents.digests(ConsentKind.USE):
            return TrustStatus(Level.GRANTED, "approved", digest)
        if by_place:
            reason = "found in a folder where other programs install, not approved"
        elif skill.source is SourceType.BUNDLED:
            reason = "differs from what skillkit ships, not approved"
        else:
            reason = "found in a project folder, not approved"
        return TrustStatus(unapproved, reason, digest)
