"""Restoring what a lock says: all of it, exactly, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillkit.core.names import canonical_name
from skillkit.install.changes import file_changes
from skillkit.install.exceptions import DriftError
from skillkit.install.fetch import fetch_at
from skillkit.install.lockfile import LockedSkill
from skillkit.install.plan import Plan, make_plan, refuse_edits
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry
from skillkit.install.registry_state import RegistryState
from skillkit.install.sources.layout import LeftOut
from skillkit.install.sources.source import Access, OpenSource, Source, ask_each_source
from skillkit.install.tree import TreeLimits

_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """What has to happen before the machine is what the lock says."""

    missing: tuple[LockedSkill, ...]
    different: tuple[tuple[LockedSkill, InstalledSkill], ...]
    unapproved: tuple[InstalledSkill, ...]
    """The right bytes, which nobody said yes to yet."""
    unlocked: tuple[InstalledSkill, ...]
    """Installed and not in the lock; they are left alone."""

    @property
    def wanted(self) -> tuple[LockedSkill, ...]:
        return (*self.missing, *(locked for locked, _ in self.different))


def compare(registry: InstallRegistry, state: RegistryState, locked: Sequence[LockedSkill]) -> SyncPlan:
    """Compare the bytes on disk with the lock. Raises LocalEditsError before any fetching."""
    missing, different, unapproved = [], [], []
    for entry in locked:
        installed = state.skills.get(canonical_name(entry.name))
        if installed is None:
            missing.append(entry)
            continue
        refuse_edits(installed, registry.store.edits(installed.stored, installed.files))
        if installed.digest != entry.digest or installed.source.location != entry.source.location:
            different.append((entry, installed))
        elif not installed.trusted:
            unapproved.append(installed)
    names = {canonical_name(entry.name) for entry in locked}
    unlocked = [skill for name, skill in sorted(state.skills.items()) if name not in names]
    return SyncPlan(tuple(missing), tuple(different), tuple(unapproved), tuple(unlocked))


def refuse_drift(plan: SyncPlan, left_out: Sequence[LeftOut]) -> None:
    """Raises DriftError when something is not what the lock says, or what it says cannot be had."""
    if left_out:
        raise DriftError(f"Cannot be restored: {'; '.join(map(str, left_out))}. Nothing was changed.")
    if plan.different:
        listed = ", ".join(
            f"{installed.name} ({installed.digest[7:15]}, locked {locked.digest[7:15]})"
            for locked, installed in plan.different
        )
        raise DriftError(f"Not what the lock says: {listed}. Nothing was changed.")


def fetch_locked(
    registry: InstallRegistry,
    state: RegistryState,
    wanted: Sequence[LockedSkill],
    limits: TreeLimits,
    access: Access,
) -> list[tuple[Plan, tuple[str, ...]]]:
    """Every wanted skill, in memory and equal to its lock, with notes; each source is opened once."""

    def get(source: Source, members: list[LockedSkill]) -> list[tuple[Plan, tuple[str, ...]]]:
        with source.open(access) as opened:
            opened.transfer([locked.source.path for locked in members], limits)
            return [_plan(registry, state, opened, locked, limits) for locked in members]

    plans = ask_each_source(
        wanted, lambda locked: locked.source.fixed(locked.revision), get, access, _AT_ONCE
    )
    order = {canonical_name(locked.name): place for place, locked in enumerate(wanted)}
    return sorted(plans, key=lambda item: order[item[0].skill.name_canonical])


def _plan(
    registry: InstallRegistry,
    state: RegistryState,
    opened: OpenSource,
    locked: LockedSkill,
    limits: TreeLimits,
) -> tuple[Plan, tuple[str, ...]]:
    found = fetch_at(opened, locked.source.path, limits)
    if found.tree.digest.digest != locked.digest:
        changes = file_changes(locked.files, found.tree.digest.files)
        listed = ", ".join(str(change) for change in changes[:10])
        raise DriftError(
            f"{found.source} is not what the lock says of '{locked.name}': {listed}. Nothing was changed."
        )
    installed = state.skills.get(canonical_name(locked.name))
    history = opened.history(installed.revision) if installed else []
    plan = make_plan(registry, replace(found, source=locked.source), locked.name)
    return plan, (*opened.notes, *history)
