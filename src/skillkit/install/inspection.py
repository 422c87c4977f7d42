"""Verify installed skills, check them for updates, and approve or revoke them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillkit.core.disk import real_path
from skillkit.core.limits import TREE_BYTES, TREE_FILES
from skillkit.core.models import SkillMetadata
from skillkit.core.text import escape_hidden
from skillkit.install.added_sources import REMOTE_FOLDER
from skillkit.install.changes import FileChange
from skillkit.install.consents import Consent, ConsentKind
from skillkit.install.context import InstallContext
from skillkit.install.exceptions import ConsentError, DriftError, InstallError, reporting_disk_errors
from skillkit.install.fetch import LoadedSkill, manifest
from skillkit.install.placement import PlaceCheck, PlaceState
from skillkit.install.plan import offer, refuse_edits
from skillkit.install.proposal import Proposal
from skillkit.install.record import InstalledSkill
from skillkit.install.sources.source import OpenSource, Source, ask_each_source
from skillkit.install.tree import SkillTree, TreeLimits, read_folder

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of comparing an installed skill with the approved bytes."""

    skill: InstalledSkill
    edits: tuple[FileChange, ...]
    places: tuple[PlaceCheck, ...] = ()
    """The state of its places in clients' folders."""

    @property
    def intact(self) -> bool:
        """Whether the files in the store match the approved ones."""
        return not self.edits

    @property
    def strays(self) -> tuple[PlaceCheck, ...]:
        """The places that do not show what was approved."""
        return tuple(check for check in self.places if check.state is not PlaceState.CURRENT)


@dataclass(frozen=True, slots=True)
class Freshness:
    """An installed skill compared with its source."""

    skill: InstalledSkill
    latest: str | None = None
    """The revision of its source now."""
    outdated: bool = False
    """Whether the source now has different files."""
    note: str = ""
    error: str = ""


@reporting_disk_errors()
def info(context: InstallContext, name: str) -> LoadedSkill:
    """Read the current state of one installed skill from disk."""
    skill = context.registry.get(name)
    edits = tuple(context.store.edits(skill.stored, skill.files))
    tree = context.files(skill)
    metadata = manifest(tree.skill_file, skill.name_canonical, recover=True)
    return LoadedSkill(skill, tree, metadata, edits)


@reporting_disk_errors()
def verify(context: InstallContext, names: Sequence[str] = ()) -> list[Verification]:
    """Compare installed skills with the approved bytes."""
    checks = []
    state = context.registry.load()
    for skill in state.selected(names):
        context.progress(f"Hashing {skill.name}")
        edits = tuple(context.store.edits(skill.stored, skill.files))
        places = context.registry.placement.checks(state, skill.name_canonical)
        checks.append(Verification(skill, edits, places))
    return checks


@reporting_disk_errors()
def outdated(context: InstallContext, names: Sequence[str] = ()) -> list[Freshness]:
    """Check every source for updates once, in parallel; a failing source is an error of its skills."""
    skills = context.registry.load().selected(names)

    def ask(source: Source, members: list[InstalledSkill]) -> list[Freshness]:
        if source.pinned:
            return [Freshness(skill, skill.revision, note="pinned to its version") for skill in members]
        try:
            with source.open(context.access) as opened:
                return [_compare(opened, skill, context.files(skill)) for skill in members]
        except InstallError as error:
            return [Freshness(skill, error=str(error)) for skill in members]

    answers = ask_each_source(skills, lambda skill: skill.source, ask, context.access, _AT_ONCE)
    order = {skill.name_canonical: place for place, skill in enumerate(skills)}
    return sorted(answers, key=lambda found: order[found.skill.name_canonical])


def _compare(opened: OpenSource, skill: InstalledSkill, stored: SkillTree) -> Freshness:
    now = opened.revision
    if now is not None and now == skill.revision:
        return Freshness(skill, now, note="; ".join(opened.notes))
    try:
        same = opened.holds(skill.subpath, stored)
    except InstallError as error:
        return Freshness(skill, now, error=str(error))
    return Freshness(skill, now, not same, "; ".join((*opened.notes, *opened.moved(skill.revision))))


@reporting_disk_errors()
def trust(context: InstallContext, name: str, *, pinned: str | None = None) -> InstalledSkill:
    """Approve an installed skill as it is now, after its card was shown."""
    found = info(context, name)
    refuse_edits(found.skill, found.edits, "; what would be approved is not what was installed.")
    if found.skill.trusted:
        return found.skill
    context.ask(Proposal("trust", (context.offer(found),), pinned == found.skill.digest))
    return _set_trust(context, found.skill, found.skill.digest)


@reporting_disk_errors()
def revoke(context: InstallContext, name: str) -> InstalledSkill:
    """Revoke the approval of an installed skill."""
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
    tree = read_folder(skill.base_dir, TreeLimits(TREE_FILES, TREE_BYTES))
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
    """Refuse a skill that an MCP server only announced: nobody has seen its text."""
    remote = skill.base_dir.is_relative_to(real_path(context.home / REMOTE_FOLDER))
    if remote and digest not in context.registry.consents.digests(ConsentKind.REMOTE):
        server = (skill.source_label or "").removeprefix("mcp-")
        raise ConsentError(
            f"'{skill.name}' is announced by the MCP server '{server}' but not fetched: "
            "add that source again and agree to what is fetched"
        )


@reporting_disk_errors()
def revoke_folder(context: InstallContext, digest: str) -> bool:
    """Revoke the approval of a skill in a project folder; return False if there was none."""
    gone = context.registry.consents.revoke(
        where=lambda each: each.kind is ConsentKind.USE and each.digest == digest
    )
    return bool(gone)
