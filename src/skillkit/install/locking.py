"""Writing locks, and installing what a lock of ours or of another tool says."""

from collections.abc import Sequence
from pathlib import Path

from skillkit.core.names import canonical_name
from skillkit.install.apm_lock import APM_LOCK_FILE, APM_MANIFEST, read_apm_lock
from skillkit.install.context import InstallContext
from skillkit.install.exceptions import DriftError, LocalEditsError, reporting_disk_errors
from skillkit.install.foreign_lock import ForeignSkill, find_all, parse_entries, sort_foreign
from skillkit.install.inspection import info, verify
from skillkit.install.lock_hashes import computed_hash
from skillkit.install.lockfile import Lock, read_lock, write_lock
from skillkit.install.plan import AddedSkills, Plan, offer_of, refuse_conflict
from skillkit.install.proposal import Proposal, ProposedSkill
from skillkit.install.record import InstalledSkill
from skillkit.install.registry_state import RegistryState
from skillkit.install.sources.layout import LeftOut
from skillkit.install.sync import SyncPlan, compare, fetch_locked, refuse_drift


@reporting_disk_errors()
def lock(context: InstallContext, path: Path, names: Sequence[str] = ()) -> list[InstalledSkill]:
    """Write the lock from what is installed; refuses what is not as it was approved."""
    skills = context.registry.load().selected(names)
    for check in verify(context, [skill.name for skill in skills]):
        if not check.intact:
            raise LocalEditsError(
                f"'{check.skill.name}' was edited here; its edits are in no repository, so "
                "they cannot be locked."
            )
    hashes = {skill.name: computed_hash(context.files(skill).contents) for skill in skills}
    write_lock(path, {skill.name: (skill, hashes[skill.name]) for skill in skills})
    return skills


@reporting_disk_errors()
def sync(context: InstallContext, path: Path, *, frozen: bool = False) -> AddedSkills:
    """Install exactly what the lock says, all of it or nothing; return what changed.

    Of entries that other tools wrote the commit is found by their hash; what is not found is left out.
    """
    ours, foreign, left_out = _read_any_lock(path)
    state = context.registry.load()
    known, strange = sort_foreign(foreign, state, context.store)
    plan = compare(context.registry, state, [*ours.skills, *known])
    _ask_to_reach(context, state, plan, strange)
    located, missing = find_all(strange, context.limits, context.access)
    left_out += missing
    locked = [*ours.skills, *known, *(item.locked for item in located)]
    plan = compare(context.registry, state, locked)
    if frozen:
        refuse_drift(plan, left_out)
    notes = {canonical_name(item.locked.name): (item.note,) for item in located}
    proposed = fetch_locked(context.registry, state, plan.wanted, context.limits, context.access)
    installed = [info(context, skill.name) for skill in plan.unapproved]
    proposed += [(Plan(found.skill, found.tree, found.metadata), ()) for found in installed]
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
        if compare(context.registry, state, locked) != plan:
            raise DriftError("Another process changed what is installed. Try again.")
        for item, _ in proposed:
            if context.store.occupied(item.skill.name_canonical):
                refuse_conflict(state, context.store, item)
        return AddedSkills([context.install(state, item) for item, _ in proposed], left_out)


def _ask_to_reach(
    context: InstallContext, state: RegistryState, plan: SyncPlan, strange: Sequence[ForeignSkill]
) -> None:
    """A lock is somebody's word: the user knows beforehand where it leads to."""
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


def _read_any_lock(path: Path) -> tuple[Lock, list[ForeignSkill], list[LeftOut]]:
    """Return what a lock of ours or of another tool says, and what of it cannot be restored."""
    if path.name in (APM_LOCK_FILE, APM_MANIFEST):
        return Lock(()), *read_apm_lock(path)
    lock = read_lock(path)
    return lock, *parse_entries(lock, path.parent)
