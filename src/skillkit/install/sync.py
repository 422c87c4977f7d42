"""Restoring what skills.lock says: all of it, exactly, or nothing."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from skillkit.core.names import canonical_name
from skillkit.install.changes import file_changes
from skillkit.install.exceptions import DriftError, InstallError, LocalEditsError
from skillkit.install.fetch import Wanted, fetch
from skillkit.install.git import GitRemote
from skillkit.install.lockfile import LockedSkill
from skillkit.install.plan import Plan, make_plan
from skillkit.install.registry import InstalledSkill, InstallRegistry, RegistryState
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
        edits = registry.store.edits(installed.stored, installed.files)
        if edits:
            listed = ", ".join(str(change) for change in edits[:10])
            raise LocalEditsError(
                f"'{installed.name}' was edited here ({listed}). Nothing was changed. Run "
                f"`agent skill update {installed.name_canonical} --overwrite-edits` first."
            )
        if installed.digest != entry.digest or installed.git_url != entry.source.url:
            different.append((entry, installed))
        elif not installed.trusted:
            unapproved.append(installed)
    names = {canonical_name(entry.name) for entry in locked}
    unlocked = [skill for name, skill in sorted(state.skills.items()) if name not in names]
    return SyncPlan(tuple(missing), tuple(different), tuple(unapproved), tuple(unlocked))


def refuse_drift(plan: SyncPlan) -> None:
    """Raises DriftError when something installed is not what the lock says."""
    if plan.different:
        listed = ", ".join(
            f"{installed.name} ({installed.digest[7:15]}, locked {locked.digest[7:15]})"
            for locked, installed in plan.different
        )
        raise DriftError(f"Not what skills.lock says: {listed}. Nothing was changed.")


def fetch_locked(
    registry: InstallRegistry,
    wanted: Sequence[LockedSkill],
    limits: TreeLimits,
    remote: Callable[[str], GitRemote],
) -> list[Plan]:
    """Every wanted skill, in memory and equal to its lock."""

    def get(locked: LockedSkill) -> Plan:
        fetched = fetch(locked.source, Wanted(), limits=limits, remote=remote)
        skill = fetched.skills[0]
        if skill.subpath != locked.source.path:
            raise InstallError(f"{locked.source} holds no skill at '{locked.source.path}'")
        if skill.tree.digest.digest != locked.digest:
            changes = file_changes(locked.files, skill.tree.digest.files)
            listed = ", ".join(str(change) for change in changes[:10])
            raise DriftError(
                f"{locked.source} is not what skills.lock says of '{locked.name}': {listed}. "
                "Nothing was changed."
            )
        plan = make_plan(registry, fetched, skill, locked.name)
        tracked = replace(plan.skill, branch=locked.branch, tag=locked.tag)
        return replace(plan, skill=tracked)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(get, wanted))
