"""Approving skills that are here, and taking approvals back."""

from dataclasses import replace

from skillkit.core.digest_memo import MAX_BYTES, MAX_FILES
from skillkit.core.disk import real_path
from skillkit.core.models import SkillMetadata
from skillkit.core.text import escape_hidden
from skillkit.install.added_sources import REMOTE_FOLDER
from skillkit.install.consents import Consent, ConsentKind
from skillkit.install.context import InstallContext
from skillkit.install.exceptions import ConsentError, DriftError, reporting_disk_errors
from skillkit.install.inspection import info
from skillkit.install.plan import Plan, offer, refuse_edits
from skillkit.install.proposal import Proposal
from skillkit.install.record import InstalledSkill
from skillkit.install.tree import TreeLimits, read_folder


@reporting_disk_errors()
def trust(context: InstallContext, name: str, *, pinned: str | None = None) -> InstalledSkill:
    """Approve an installed skill as it is now, after its card was shown."""
    found = info(context, name)
    refuse_edits(found.skill, found.edits, "; what would be approved is not what was installed.")
    if found.skill.trusted:
        return found.skill
    plan = Plan(found.skill, found.tree, found.metadata)
    context.ask(Proposal("trust", (context.offer(plan),), pinned == found.skill.digest))
    return _set_trust(context, found.skill, found.skill.digest)


@reporting_disk_errors()
def revoke(context: InstallContext, name: str) -> InstalledSkill:
    """Take the approval of an installed skill back."""
    return _set_trust(context, context.registry.get(name), None)


def _set_trust(context: InstallContext, skill: InstalledSkill, digest: str | None) -> InstalledSkill:
    with context.registry.transaction() as state:
        current = state.get(skill.name)
        if current.digest != skill.digest:
            raise DriftError(f"'{skill.name}' was changed by another process. Try again.")
        changed = replace(current, trusted_digest=digest)
        state.skills[changed.name_canonical] = changed
        return changed


@reporting_disk_errors()
def trust_folder(context: InstallContext, skill: SkillMetadata, *, pinned: str | None = None) -> str:
    """Approve a skill in a project folder by the digest of its bytes; return the digest."""
    tree = read_folder(skill.base_dir, TreeLimits(MAX_FILES, MAX_BYTES))
    digest = tree.digest.digest
    _refuse_announced(context, skill, digest)
    if digest not in context.registry.consents.digests(ConsentKind.USE):
        origin = escape_hidden(str(skill.base_dir))
        known = context.registry.load().skills
        card = offer(tree, skill, known, name=skill.name, origin=origin)
        context.ask(Proposal("trust", (card,), pinned == digest))
        given = Consent(ConsentKind.USE, digest, skill.canonical_name, str(skill.base_dir))
        context.registry.consents.grant(given)
    return digest


def _refuse_announced(context: InstallContext, skill: SkillMetadata, digest: str) -> None:
    """A skill that an MCP server only announced is a header here: its text was seen by nobody."""
    remote = skill.base_dir.is_relative_to(real_path(context.home / REMOTE_FOLDER))
    if remote and digest not in context.registry.consents.digests(ConsentKind.REMOTE):
        server = (skill.source_label or "").removeprefix("mcp-")
        raise ConsentError(
            f"'{skill.name}' is announced by the MCP server '{server}' and not fetched: "
            "add that source again and agree to what is fetched"
        )


@reporting_disk_errors()
def revoke_folder(context: InstallContext, digest: str) -> bool:
    """Take the approval of a skill in a project folder back; return False when there was none."""
    gone = context.registry.consents.revoke(
        where=lambda each: each.kind is ConsentKind.USE and each.digest == digest
    )
    return bool(gone)
