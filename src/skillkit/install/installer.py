"""SkillInstaller: installs, updates and removes skills."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install import inspection, locking
from skillkit.install.adoption import UntrackedSkill, find_adoptable
from skillkit.install.clients import InstallTargets, Place, all_clients
from skillkit.install.closure import find_closure
from skillkit.install.consents import ConsentKind
from skillkit.install.context import InstallContext
from skillkit.install.exceptions import (
    DriftError,
    InstallError,
    LocalEditsError,
    NameConflictError,
    NotInstalledError,
    Remedy,
    reporting_disk_errors,
)
from skillkit.install.fetch import (
    Chooser,
    LoadedSkill,
    SkillSelector,
    fetch,
    fetch_at,
    list_choices,
    manifest,
)
from skillkit.install.paths import installed_identity
from skillkit.install.placement import PlaceState
from skillkit.install.plan import (
    AddedSkills,
    SourceListing,
    UpdateResult,
    find_places,
    is_installed,
    needed_by,
    offer,
    offer_of,
    one_for_each_name,
    refuse_conflict,
    refuse_edits,
    refuse_other_versions,
)
from skillkit.install.proposal import Proposal, ProposedSkill
from skillkit.install.record import InstalledSkill
from skillkit.install.registry_state import MAX_PREVIOUS, RegistryState, RemovedSkill
from skillkit.install.sources.kinds import resolve_source
from skillkit.install.sources.layout import Skipped
from skillkit.install.sources.source import OpenSource, OpenSources, Source
from skillkit.install.tree import ANY_SIZE, read_folder

_UNVOUCHED = "no branch or tag of the repository contains this commit: it may come from a fork"


class SkillInstaller(InstallContext):
    """Adds, updates, checks and removes skills. Nothing changes unless `consent` says yes to it."""

    info = inspection.info
    verify = inspection.verify
    outdated = inspection.outdated
    trust = inspection.trust
    revoke = inspection.revoke
    trust_folder = inspection.trust_folder
    revoke_folder = inspection.revoke_folder
    lock = locking.lock
    sync = locking.sync

    examine: Callable[[LoadedSkill], tuple[str, ...]] = staticmethod(lambda plan: ())
    """Looks at a new version before the user is asked; what it returns is on the card."""

    # Adding

    @reporting_disk_errors()
    def add(
        self,
        source: str | Source,
        *,
        ref: str | None = None,
        path: str | None = None,
        skills: Sequence[str] = (),
        everything: bool = False,
        chooser: Chooser | None = None,
        name: str | None = None,
        placing: InstallTargets | None = None,
        alone: bool = False,
        also: Sequence[str] = (),
    ) -> AddedSkills:
        """Install the wanted skills of a source, all of them or none, for the clients of `placing` too.

        Their declared requirements from the same source are added, unless `alone`, and so are the skills of
        `also`. With `everything`, one that cannot be installed is left out with the reason.
        """
        if isinstance(source, str):
            source = resolve_source(source, self.access, ref=ref, path=path)
        wanted = SkillSelector(tuple(skills), everything, chooser)
        with source.open(self.access) as opened:
            fetched = fetch(opened, source.path, wanted, self.limits)
            vouched = not source.pinned or opened.is_vouched_for()
            notes = opened.notes if vouched else (*opened.notes, _UNVOUCHED)
            state = self.registry.load()
            closure = find_closure(
                opened, source.path, fetched.skills, state.skills, self.limits, alone=alone, also=also
            )
            notes_on = {
                skill.skill.subpath: (
                    *opened.notes_on(skill.skill.subpath),
                    *closure.notes.get(skill.skill.subpath, ()),
                )
                for skill in closure.skills
            }
        if name is not None and len(fetched.skills) != 1:
            raise InstallError(
                "Only a single skill can be installed under another name", remedy=Remedy.CHOOSE
            )
        left_out = list(fetched.left_out)
        usable = []
        for number, skill in enumerate(closure.skills):
            try:
                plan = skill.named(name if number < len(fetched.skills) else None)
                refuse_other_versions(plan)
                refuse_conflict(state, self.store, plan)
                usable.append(plan)
            except InstallError as error:
                if not everything or len(closure.skills) == 1:
                    raise
                left_out.append(Skipped(skill.skill.subpath, str(error)))
        plans = one_for_each_name(usable, left_out if everything else None)
        places = find_places(self.registry, state, [plan.skill for plan in plans], placing)
        fresh = [plan for plan in plans if not is_installed(state, plan)]
        if fresh:
            known = {*state.skills, *(plan.skill.name_canonical for plan in plans)}
            offers = tuple(
                offer_of(
                    plan,
                    self.store,
                    known,
                    notes=(
                        *notes,
                        *notes_on[plan.skill.subpath],
                        *(f"{place}" for place in places.get(plan.skill.name_canonical, ())),
                    ),
                )
                for plan in fresh
            )
            self.ask(Proposal("add", offers, source.pinned and vouched, tuple(left_out)))
        if fresh or places:
            with self.registry.transaction() as state:
                for plan in fresh:
                    refuse_conflict(state, self.store, plan)
                    self.install(state, plan)
                for canonical, wanted_places in places.items():
                    state.add_places(canonical, wanted_places)
        return AddedSkills([state.skills[plan.skill.name_canonical] for plan in plans], left_out)

    @reporting_disk_errors()
    def adopt(self, project: Path) -> AddedSkills:
        """Record skills that other tools put into clients' folders; the files are not moved.

        Skills of unknown origin are approved as they are, in the same question.
        """
        state = self.registry.load()
        placed = {place.path for places in state.places.values() for place in places}
        plans: dict[str, LoadedSkill] = {}
        places: dict[str, list[Place]] = {}
        notes: dict[str, tuple[str, ...]] = {}
        left_out = []
        unexplained = []
        approved = self.registry.consents.digests(ConsentKind.USE)
        for found in find_adoptable(all_clients(), project, placed):
            if isinstance(found, Skipped):
                left_out.append(found)
                continue
            if isinstance(found, UntrackedSkill):
                unexplained += [found] if found.tree.digest.digest not in approved else []
                continue
            try:
                plan = found.skill.named(Path(found.place.path).name)
                refuse_conflict(state, self.store, plan)
                one_for_each_name([*plans.values(), plan], None)
            except InstallError as error:
                left_out.append(Skipped(found.place.path, str(error)))
                continue
            name = plan.skill.name_canonical
            plans.setdefault(name, plan)
            places.setdefault(name, []).append(found.place)
            notes[name] = (*found.notes, *(f"stays where it is: {place.path}" for place in places[name]))
        if plans or unexplained:
            names = {*state.skills, *plans}
            offers = (
                *(offer_of(plan, self.store, names, notes=notes[name]) for name, plan in plans.items()),
                *(_approval_of(found, names) for found in unexplained),
            )
            self.ask(Proposal("adopt", offers, left_out=tuple(left_out)))
            self.registry.consents.grant(*(found.consent for found in unexplained))
        if plans:
            with self.registry.transaction() as state:
                for name, plan in plans.items():
                    refuse_conflict(state, self.store, plan)
                    self.install(state, plan)
                    state.add_places(name, places[name])
        return AddedSkills(
            [state.skills[name] for name in plans], left_out, tuple(found.path for found in unexplained)
        )

    @reporting_disk_errors()
    def look(self, source: str | Source, *, ref: str | None = None, path: str | None = None) -> SourceListing:
        """List the skills in a source without installing them."""
        if isinstance(source, str):
            source = resolve_source(source, self.access, ref=ref, path=path)
        with source.open(self.access) as opened:
            listing = opened.listing(source.path)
            return SourceListing(tuple(list_choices(opened, listing.folders)), listing.left_out)

    # Updating

    @reporting_disk_errors()
    def update(self, name: str, *, ref: str | None = None, overwrite_edits: bool = False) -> InstalledSkill:
        """Update a skill to the head of its branch or tag, or to `ref`, after showing the changes.

        Return the installed skill; it is the same one as before when there was nothing to do.
        """
        with OpenSources(self.access) as sources:
            return self._update(sources, name, ref, overwrite_edits, {})

    def update_each(
        self, names: Sequence[str], *, ref: str | None = None, overwrite_edits: bool = False
    ) -> Iterator[UpdateResult]:
        """Update skills one by one, with a question each; every source is opened once."""
        with reporting_disk_errors(), OpenSources(self.access) as sources:
            waiting = self._paths_by_source(names)
            for name in names:
                try:
                    before = self.registry.get(name)
                    with reporting_disk_errors():
                        after = self._update(sources, name, ref, overwrite_edits, waiting)
                except SkillsUseError as error:
                    yield UpdateResult(name, error=error)
                else:
                    yield UpdateResult(name, before, after)

    def _paths_by_source(self, names: Sequence[str]) -> dict[Source, list[str]]:
        """Return the folders to read from each source, so that they are transferred at once."""
        paths: dict[Source, list[str]] = {}
        skills = self.registry.load().skills
        for name in names:
            if (skill := skills.get(installed_identity(name))) is not None:
                paths.setdefault(skill.source.within(""), []).append(skill.subpath)
        return paths

    def _update(
        self,
        sources: OpenSources,
        name: str,
        ref: str | None,
        overwrite_edits: bool,
        waiting: dict[Source, list[str]],
    ) -> InstalledSkill:
        old = self.registry.get(name)
        edits = self.store.edits(old.stored, old.files)
        refuse_edits(old, () if overwrite_edits else edits)
        self._mend_places(old.name_canonical)
        opened = sources.open(old.source if ref is None else old.source.at(ref))
        if opened.revision is not None and opened.revision == old.revision and old.trusted and not edits:
            return self._record_revision(old, replace(old, source=opened.followed.within(old.subpath)))
        opened.transfer(waiting.pop(old.source.within(""), ()), self.limits)
        plan, notes = self._newest(opened, old)
        refuse_other_versions(plan)
        if plan.skill.digest == old.digest and not edits:
            return self._record_revision(old, plan.skill)
        notes += tuple(f"local edit is kept for rollback: {change}" for change in edits)
        notes += self.examine(plan)
        notes += self._notes_on_places(old)
        pinned = ref is not None and plan.skill.source.pinned and opened.is_vouched_for()
        self.ask(Proposal("update", (self.offer(plan, old, notes),), pinned))
        with self.registry.transaction() as state:
            current = state.get(name)
            if current.digest != old.digest:
                raise DriftError(f"'{old.name}' was changed by another process. Try again.")
            if not overwrite_edits and self.store.edits(old.stored, old.files):
                raise LocalEditsError(f"'{old.name}' was edited while you were being asked. Try again.")
            return self.install(state, plan)

    def _mend_places(self, name: str) -> None:
        """Restore missing places of a skill in clients' folders."""
        checks = self.registry.placement.checks(self.registry.load(), name)
        if any(check.state is PlaceState.MISSING for check in checks):
            with self.registry.transaction():
                pass

    def _newest(self, opened: OpenSource, old: InstalledSkill) -> tuple[LoadedSkill, tuple[str, ...]]:
        """Return the skill to install, with notes on its origin."""
        plan = fetch_at(opened, old.subpath, self.limits).named(old.name)
        notes = [*opened.notes, *opened.notes_on(old.subpath)]
        if opened.followed.follows == old.source.follows:
            notes += opened.moved(old.revision)
        notes += opened.history(old.revision)
        if canonical_name(plan.metadata.name) != canonical_name(old.declared_name or old.name):
            notes.append(f"its declared name is now '{escape_hidden(plan.metadata.name)}'")
        return plan, tuple(notes)

    def _record_revision(self, old: InstalledSkill, new: InstalledSkill) -> InstalledSkill:
        """Record another commit with the same bytes."""
        if (old.revision, old.source) == (new.revision, new.source):
            return old
        with self.registry.transaction() as state:
            skill = replace(state.get(old.name), revision=new.revision, source=new.source)
            state.skills[skill.name_canonical] = skill
            return skill

    # Removing and rolling back

    @reporting_disk_errors()
    def remove(self, name: str) -> InstalledSkill:
        """Move a skill to the trash, where it stays for 7 days."""
        skill = self.registry.get(name)
        edits = self.store.edits(skill.stored, skill.files)
        notes = tuple(f"local edit goes to the trash as well: {change}" for change in edits)
        notes += self._notes_on_places(skill)
        notes += needed_by(self.registry.load(), skill)
        gone = ProposedSkill(
            skill.name,
            skill.origin,
            skill.digest,
            skill.revision,
            file_count=len(skill.files),
            notes=notes,
        )
        self.ask(Proposal("remove", (gone,)))
        with self.registry.transaction() as state:
            last = self.preserved(state.get(name))
            del state.skills[last.name_canonical]
            moment = self.registry.now().isoformat(timespec="seconds")
            state.removed.insert(0, RemovedSkill(last, moment))
            return last

    @reporting_disk_errors()
    def rollback(self, name: str) -> InstalledSkill:
        """Restore the version before the last update, or from the trash."""
        state = self.registry.load()
        canonical = installed_identity(name)
        current = state.skills.get(canonical)
        target = self._rollback_target(state, canonical)
        if self.store.edits(target.stored, target.files):
            raise DriftError(
                f"The earlier version of '{target.name}' ({target.version}) is damaged in the "
                "store. Nothing was restored."
            )
        if current is None and self.store.occupied(canonical):
            raise NameConflictError(
                f"'{target.name}' from the trash conflicts with a folder you created: "
                f"{self.store.link(canonical)}. Move that folder first."
            )
        tree = read_folder(self.store.path(target.stored), ANY_SIZE)
        metadata = manifest(tree.skill_file, canonical, recover=True)
        notes = self._notes_on_places(current) if current else ()
        self.ask(Proposal("rollback", (self.offer(LoadedSkill(target, tree, metadata), current, notes),)))
        with self.registry.transaction() as state:
            if self._rollback_target(state, canonical).digest != target.digest:
                raise DriftError(f"'{target.name}' was changed by another process. Try again.")
            current = state.skills.get(canonical)
            if current is None:
                state.removed = [item for item in state.removed if item.skill != target]
                state.skills[canonical] = target
            else:
                newer = replace(self.preserved(current), previous=())
                rest = [old for old in current.previous if old.digest != target.digest]
                previous = tuple((newer, *rest)[:MAX_PREVIOUS])
                state.skills[canonical] = replace(target, previous=previous)
            return state.skills[canonical]

    def _rollback_target(self, state: RegistryState, canonical: str) -> InstalledSkill:
        current = state.skills.get(canonical)
        if current is not None:
            if not current.previous:
                raise InstallError(f"'{current.name}' has no earlier version to roll back to")
            return current.previous[0]
        now = self.registry.now()
        for item in state.removed:
            if item.skill.name_canonical == canonical and not item.expired(now):
                return item.skill
        raise NotInstalledError(f"'{escape_hidden(canonical)}' is neither installed nor in the trash")

    def _notes_on_places(self, skill: InstalledSkill) -> tuple[str, ...]:
        """Describe the skill's places in clients' folders; edited ones are left as they are."""
        checks = self.registry.placement.checks(self.registry.load(), skill.name_canonical)
        kept = (PlaceState.EDITED, PlaceState.TAKEN)
        return tuple(
            f"left as it is, since it was edited: {check.place.path}"
            if check.state in kept
            else str(check.place)
            for check in checks
        )


def _approval_of(found: UntrackedSkill, installed: Collection[str]) -> ProposedSkill:
    note = "no tool says where it came from: approved as it is, never updated"
    path = escape_hidden(str(found.path))
    card = offer(found.tree, found.metadata, installed, name=found.metadata.name, origin=path)
    return replace(card, notes=(note,))
