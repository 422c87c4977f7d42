"""InstallRegistry: registry.json, the one file that says what is installed."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from skillkit.core.disk import (
    DamagedFileError,
    JsonFile,
    agent_home,
    file_stamp,
    locked,
    sync_folder,
)
from skillkit.core.events import NO_JOURNAL, Event, Kind, Writer
from skillkit.core.foreign_json import read_plain
from skillkit.core.limits import LOCK_SECONDS
from skillkit.install.clients import Place
from skillkit.install.consents import Consent, ConsentFile, ConsentKind
from skillkit.install.exceptions import RegistryError, reporting_disk_errors
from skillkit.install.placement import PlaceCheck, Placement, PlaceState
from skillkit.install.record import InstalledSkill
from skillkit.install.registry_repair import carried_over, older_records, rebuilt, recorded
from skillkit.install.registry_state import RegistryState
from skillkit.install.store import SkillStore

logger = logging.getLogger(__name__)

FORMAT = 1


class InstallRegistry:
    """Reads without a lock, writes under one; mends what a crash or a bad disk left behind."""

    def __init__(
        self,
        home: Path | None = None,
        *,
        on_wait: Callable[[], object] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        journal: Writer = NO_JOURNAL,
    ) -> None:
        self.home = Path(home) if home is not None else agent_home()
        self.store = SkillStore(self.home)
        self.placement = Placement(self.store)
        self.file = JsonFile(self.home / "skills" / "registry.json", FORMAT, RegistryError)
        self.selection_file = JsonFile(self.home / "skills" / "selection.json", FORMAT, RegistryError)
        """A copy of the one thing that the store does not know, for when the registry is lost."""
        self.lock = self.home / "install.lock"
        self.on_wait = on_wait
        self.now = now
        self.notices: list[str] = []
        """What was found damaged and what was done about it."""
        self.journal = journal
        self.consents = ConsentFile(self.home, notice=self._notice, journal=journal, now=now)

    @reporting_disk_errors()
    def load(self) -> RegistryState:
        """What is installed now. Repairs a damaged registry and links that a crash left behind."""
        try:
            state = self._read()
            if state is not None and not self._stale(state) and not state.unsettled:
                return state
            if state is None and not self.store.all_linked():
                return RegistryState()
        except DamagedFileError:
            pass
        with locked(self.lock, self.on_wait, patience=LOCK_SECONDS):
            state = self._read_or_recover()
            self._relink(state)
            self._settle(state)
            return state

    def list(self) -> list[InstalledSkill]:
        """Every installed skill, by canonical name."""
        return [skill for _, skill in sorted(self.load().skills.items())]

    def get(self, name: str) -> InstalledSkill:
        """The installed skill of that name, however it is spelled; raises NotInstalledError."""
        return self.load().get(name)

    @contextmanager
    def transaction(self) -> Iterator[RegistryState]:
        """The state, alone; what it is at the end of the block becomes true in one instant.

        An exception in the block leaves everything as it was.
        """
        with reporting_disk_errors(), locked(self.lock, self.on_wait, patience=LOCK_SECONDS):
            state = self._read_or_recover()
            before = {version.digest for version in state.versions() if version.trusted}
            installed = dict(state.skills)
            yield state
            now = self.now()
            state.removed = [item for item in state.removed if not item.expired(now)]
            there = {*state.skills, *(item.skill.name_canonical for item in state.removed)}
            state.places = {name: places for name, places in state.places.items() if name in there}
            state.unsettled = bool(state.places)
            self._keep_consents(before, state)
            if state.selection not in (None, self._kept_selection()):
                self.selection_file.write({"selection": state.selection})
            self.file.write(state.to_data())
            self._relink(state)
            self._settle(state)
            self.store.collect({version.stored for version in state.versions()})
        self._record_changes(installed, state.skills)

    def _record_changes(
        self, before: Mapping[str, InstalledSkill], after: Mapping[str, InstalledSkill]
    ) -> None:
        for name in sorted(before.keys() | after.keys()):
            old, new = before.get(name), after.get(name)
            if old is None and new is not None:
                self._record(Kind.INSTALLED, new)
            elif old is not None and new is None:
                self._record(Kind.REMOVED, old)
            elif old is not None and new is not None and old.digest != new.digest:
                self._record(Kind.UPDATED, new, was=old.digest)

    def _record(self, kind: Kind, skill: InstalledSkill, **more: str) -> None:
        data = {"origin": skill.origin, "revision": skill.revision, **more}
        self.journal.record(Event(kind, skill.name_canonical, skill.digest, data))

    def stamp(self) -> object:
        """Return what changes whenever the registry does; None when there is no file."""
        return file_stamp(self.file.path)

    def _keep_consents(self, before: set[str], state: RegistryState) -> None:
        """Write down which versions are approved now, before the registry says that they are installed.

        A crash in between leaves a yes that was given to bytes that are not here.
        """
        present = {version.digest for version in state.versions()}
        trusted = {version.digest: version for version in state.versions() if version.trusted}
        revoked, gone = before & present - set(trusted), before - present
        if revoked or gone:
            self.consents.revoke(
                where=lambda each: (
                    each.kind is ConsentKind.USE
                    and (each.digest in revoked or (each.digest in gone and not each.place))
                )
            )
        if fresh := set(trusted) - self.consents.digests(ConsentKind.USE):
            self.consents.grant(
                *(Consent(ConsentKind.USE, digest, trusted[digest].name_canonical) for digest in fresh)
            )

    def _read(self) -> RegistryState | None:
        data = self.file.read()
        if data is None:
            return None
        return RegistryState.from_data(data, self.consents.digests(ConsentKind.USE))

    def _stale(self, state: RegistryState) -> bool:
        return self.store.stale_links(_wanted(state)) and os.access(self.home, os.W_OK)

    def _relink(self, state: RegistryState) -> None:
        self.store.relink(_wanted(state))

    def check_places(self, state: RegistryState, name: str) -> tuple[PlaceCheck, ...]:
        """What is found in the places where clients see an installed skill; another process may remove it."""
        if (skill := state.skills.get(name)) is None:
            return ()
        digest, known = skill.digest, state.digests(name)
        return tuple(
            PlaceCheck(place, self.placement.state(place, name, digest, known))
            for place in state.places.get(name, ())
        )

    def mend_places(self, name: str) -> None:
        """Put a skill back where clients saw it, if it is gone from there."""
        state = self.load()
        if any(check.state is PlaceState.MISSING for check in self.check_places(state, name)):
            with self.transaction():
                pass

    def _settle(self, state: RegistryState) -> None:
        """Bring clients' folders into step with the state, after it was written."""
        if not state.unsettled:
            return
        for name, places in state.places.items():
            state.places[name] = tuple(self._settled(state, name, place) for place in places)
        state.unsettled = False
        self.file.write(state.to_data())

    def _settled(self, state: RegistryState, name: str, place: Place) -> Place:
        skill, known = state.skills.get(name), state.digests(name)
        try:
            if skill is not None:
                return self.placement.bring(place, name, skill.stored, skill.digest, known)
            self.placement.take_out(place, name, known)
        except OSError as error:
            self._notice(f"{place.path} is not in step: {error.strerror}")
        return place

    def _read_or_recover(self) -> RegistryState:
        try:
            state = self._read()
            if state is None and self.store.all_linked():
                raise DamagedFileError("missing")
        except DamagedFileError as error:
            return self._carry_over() or self._recover(str(error))
        return RegistryState() if state is None else state

    def _carry_over(self) -> RegistryState | None:
        """The state that a registry of the form before versions becomes; None when it is none."""
        try:
            records = older_records(read_plain(self.file.path))
        except FileNotFoundError:
            return None
        if records is None:
            return None
        aside = self.home / "carried-over"
        skills = {skill.name_canonical: skill for skill in carried_over(records, self.store, aside)}
        state = RegistryState(skills)
        kept = self.file.keep_copy("older")
        self.file.write(state.to_data())
        self._notice(
            f"{self.file.path} was of an older form; it is kept as {kept}. Carried over {len(skills)} of "
            f"{len(records)} skills, their folders to {aside}. Approve them again before use."
        )
        return state

    def _recover(self, reason: str) -> RegistryState:
        """Rebuild the registry from the store; nobody's trust survives that."""
        kept = f" It is kept as {self.file.set_aside()}." if self.file.path.exists() else ""
        state = rebuilt(self.store, self._kept_selection(), self.now())
        recovered = {record.digest for record in recorded(self.store)}
        self.consents.revoke(
            where=lambda each: each.kind is ConsentKind.USE and each.digest in recovered and not each.place
        )
        self.file.write(state.to_data())
        self._notice(
            f"{self.file.path} was {reason}.{kept} Recovered {len(state.skills)} skills from the "
            f"store and {len(state.removed)} in the trash; approve them again before use."
        )
        sync_folder(self.file.path.parent)
        return state

    def _kept_selection(self) -> str | None:
        try:
            kept = (self.selection_file.read() or {}).get("selection")
        except (DamagedFileError, RegistryError):
            return None
        return kept if isinstance(kept, str) else None

    def _notice(self, text: str) -> None:
        logger.warning(text)
        self.notices.append(text)


def _wanted(state: RegistryState) -> dict[str, str]:
    return {name: skill.stored for name, skill in state.skills.items()}
