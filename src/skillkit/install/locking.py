"""Write locks, and install from a lock of ours or of another tool."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillkit.install.apm_lock import read_apm_lock
from skillkit.install.changes import file_changes
from skillkit.install.context import InstallContext
from skillkit.install.exceptions import DriftError, LocalEditsError, reporting_disk_errors
from skillkit.install.fetch import LoadedSkill, fetch_at
from skillkit.install.foreign_lock import ForeignSkill, find_all, parse_entries, sort_foreign
from skillkit.install.inspection import info, verify
from skillkit.install.lock_hashes import computed_hash
from skillkit.install.lockfile import APM_LOCK_FILE, APM_MANIFEST, Lock, read_lock, write_lock
from skillkit.install.plan import AddedSkills, offer_of, refuse_conflict, refuse_edits
from skillkit.install.proposal import Proposal, ProposedSkill
from skillkit.install.record import InstalledSkill
from skillkit.install.registry_state import RegistryState
from skillkit.install.sources.layout import Skipped
from skillkit.install.sources.source import Access, OpenSource, Source, ask_each_source
from skillkit.install.store import SkillStore
from skillkit.install.tree import TreeLimits

_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """The changes needed for the machine to match the lock."""

    missing: tuple[InstalledSkill, ...]
    different: tuple[tuple[InstalledSkill, InstalledSkill], ...]
    unapproved: tuple[InstalledSkill, ...]
    """Installed with the locked bytes, but not approved."""

    @property
    def wanted(self) -> tuple[InstalledSkill, ...]:
        return (*self.missing, *(locked for locked, _ in self.different))


@reporting_disk_errors()
def lock(context: InstallContext, path: Path, names: Sequence[str] = ()) -> list[InstalledSkill]:
    """Write the lock from the installed skills; refuse edited ones."""
    skills = context.registry.load().selected(names)
    for check in verify(context, [skill.name for skill in skills]):
        if not check.intact:
            raise LocalEditsError(
                f"'{check.skill.name}' has local edits, which are in no repository and cannot be locked."
            )
    hashes = {skill.name: computed_hash(context.files(skill).contents) for skill in skills}
    write_lock(path, {skill.name: (skill, hashes[skill.name]) for skill in skills})
    return skills


@reporting_disk_errors()
def sync(context: InstallContext, path: Path, *, frozen: bool = False) -> AddedSkills:
    """Install exactly the locked skills, all or none; return the changes.

    Entries of other tools are resolved to a commit by their hash; unresolved ones are skipped.
    """
    ours, foreign, left_out = _read_any_lock(path)
    state = context.registry.load()
    known, strange = sort_foreign(foreign, state, context.store)
    plan = _compare(context.store, state, [*ours.skills, *known])
    _ask_to_reach(context, state, plan, strange)
    located, missing = find_all(strange, context.limits, context.access)
    left_out += missing
    locked = [*ours.skills, *known, *(skill for skill, _ in located)]
    plan = _compare(context.store, state, locked)
    if frozen:
        _refuse_drift(plan, left_out)
    notes = {skill.name_canonical: (note,) for skill, note in located}
    proposed = fetch_locked(state, plan.wanted, context.limits, context.access)
    proposed += [(info(context, skill.name), ()) for skill in plan.unapproved]
    if not proposed:
        return AddedSkills([], left_out)
    offers = tuple(
        offer_of(
            item,
            context.store,
            {*state.skills, *(other.skill.name_canonical for other, _ in proposed)},
            state.skills.get(item.skill.name_canonical),
            (*said, *notes.get(item.skill.name_canonical, ())),
        )
        for item, said in proposed
    )
    context.ask(Proposal("sync", offers, pinned=True, left_out=tuple(left_out)))
    with context.registry.transaction() as state:
        if _compare(context.store, state, locked) != plan:
            raise DriftError("Another process changed what is installed. Try again.")
        for item, _ in proposed:
            if context.store.occupied(item.skill.name_canonical):
                refuse_conflict(state, context.store, item)
        return AddedSkills([context.install(state, item) for item, _ in proposed], left_out)


def _ask_to_reach(
    context: InstallContext, state: RegistryState, plan: SyncPlan, strange: Sequence[ForeignSkill]
) -> None:
    """Ask before connecting to sources that only the lock names."""
    wanted = [(item.name, item.source, item.digest) for item in plan.wanted]
    wanted += [(item.name, item.source, item.hash) for item in strange]
    known = {(skill.source.kind, skill.source.location) for skill in state.skills.values()}
    offers = tuple(
        ProposedSkill(name, str(source), digest)
        for name, source, digest in wanted
        if (source.kind, source.location) not in known
    )
    if offers:
        context.ask(Proposal("reach", offers, pinned=True))


def _read_any_lock(path: Path) -> tuple[Lock, list[ForeignSkill], list[Skipped]]:
    """Return the skills of a lock of ours or of another tool, and those that cannot be restored."""
    if path.name in (APM_LOCK_FILE, APM_MANIFEST):
        return Lock(()), *read_apm_lock(path)
    lock = read_lock(path)
    return lock, *parse_entries(lock, path.parent)


def _compare(store: SkillStore, state: RegistryState, locked: Sequence[InstalledSkill]) -> SyncPlan:
    """Compare the bytes on disk with the lock. Raises LocalEditsError before any fetching."""
    missing, different, unapproved = [], [], []
    for entry in locked:
        installed = state.skills.get(entry.name_canonical)
        if installed is None:
            missing.append(entry)
            continue
        refuse_edits(installed, store.edits(installed.stored, installed.files))
        if installed.digest != entry.digest or installed.source.location != entry.source.location:
            different.append((entry, installed))
        elif not installed.trusted:
            unapproved.append(installed)
    return SyncPlan(tuple(missing), tuple(different), tuple(unapproved))


def _refuse_drift(plan: SyncPlan, left_out: Sequence[Skipped]) -> None:
    """Raise DriftError if a skill differs from the lock or is unavailable."""
    if left_out:
        raise DriftError(f"Cannot be restored: {'; '.join(map(str, left_out))}. Nothing was changed.")
    if plan.different:
        listed = ", ".join(
            f"{installed.name} ({installed.digest[7:15]}, locked {locked.digest[7:15]})"
            for locked, installed in plan.different
        )
        raise DriftError(f"Not the locked versions: {listed}. Nothing was changed.")


def fetch_locked(
    state: RegistryState, wanted: Sequence[InstalledSkill], limits: TreeLimits, access: Access
) -> list[tuple[LoadedSkill, tuple[str, ...]]]:
    """Load every wanted skill, verified against its lock, with notes; each source is opened once."""

    def get(source: Source, members: list[InstalledSkill]) -> list[tuple[LoadedSkill, tuple[str, ...]]]:
        with source.open(access) as opened:
            opened.transfer([locked.source.path for locked in members], limits)
            return [_plan(state, opened, locked, limits) for locked in members]

    plans = ask_each_source(
        wanted, lambda locked: locked.source.fixed(locked.revision), get, access, _AT_ONCE
    )
    order = {locked.name_canonical: place for place, locked in enumerate(wanted)}
    return sorted(plans, key=lambda item: order[item[0].skill.name_canonical])


def _plan(
    state: RegistryState, opened: OpenSource, locked: InstalledSkill, limits: TreeLimits
) -> tuple[LoadedSkill, tuple[str, ...]]:
    found = fetch_at(opened, locked.source.path, limits).named(locked.name)
    if found.tree.digest.digest != locked.digest:
        changes = file_changes(locked.files, found.tree.digest.files)
        listed = ", ".join(str(change) for change in changes[:10])
        raise DriftError(
            f"{found.skill.source} does not match the lock for '{locked.name}': {listed}. "
            "Nothing was changed."
        )
    installed = state.skills.get(locked.name_canonical)
    history = opened.history(installed.revision) if installed else []
    plan = replace(found, skill=replace(found.skill, source=locked.source))
    return plan, (*opened.notes, *history)
