"""InstallRegistry: registry.json, the record of installed skills."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from skillkit.core.disk import DamagedFileError, JsonFile, agent_home, file_stamp, locked
from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.limits import LOCK_SECONDS
from skillkit.install.consents import Consent, ConsentFile, ConsentKind
from skillkit.install.exceptions import RegistryError, reporting_disk_errors
from skillkit.install.placement import Placement
from skillkit.install.record import InstalledSkill
from skillkit.install.registry_repair import carry_over, recover
from skillkit.install.registry_state import RegistryState, record_changes
from skillkit.install.store import SkillStore

logger = logging.getLogger(__name__)

FORMAT = 1


class InstallRegistry:
    """Reads without a lock, writes under one; repairs damage from a crash or a bad disk."""

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
        """Notices about damage found and repaired."""
        self.journal = journal
        self.consents = ConsentFile(self.home, notice=self._notice, journal=journal, now=now)

    @reporting_disk_errors()
    def load(self) -> RegistryState:
        """Return the installed skills. Repairs a damaged registry and links left by a crash."""
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
            self._settle(state)
            return state

    def list(self) -> list[InstalledSkill]:
        """Return every installed skill, by canonical name."""
        return [skill for _, skill in sorted(self.load().skills.items())]

    def get(self, name: str) -> InstalledSkill:
        """Return the installed skill of that name in any spelling; raises NotInstalledError."""
        return self.load().get(name)

    @contextmanager
    def transaction(self) -> Iterator[RegistryState]:
        """Lock the state for the block; its changes are written atomically at the end.

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
            self._settle(state)
            self.store.collect({version.stored for version in state.versions()})
        record_changes(self.journal, installed, state.skills)

    def stamp(self) -> object:
        """Return a stamp that changes with the registry; None if the file is missing."""
        return file_stamp(self.file.path)

    def _keep_consents(self, before: set[str], state: RegistryState) -> None:
        """Record the approved versions before the registry lists them as installed.

        A crash in between leaves a consent to a version that is not installed.
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
        return self.store.stale_links(state.stored) and os.access(self.home, os.W_OK)

    def _settle(self, state: RegistryState) -> None:
        """Update links and clients' folders to match the written state."""
        self.store.relink(state.stored)
        if state.unsettled:
            self.placement.settle(state, self._notice)
            self.file.write(state.to_data())

    def _read_or_recover(self) -> RegistryState:
        try:
            state = self._read()
            if state is None and self.store.all_linked():
                raise DamagedFileError("missing")
        except DamagedFileError as error:
            damage = str(error)
        else:
            return RegistryState() if state is None else state
        repaired = carry_over(self.file, self.store) or recover(
            self.file, self.store, damage, self._kept_selection(), self.now()
        )
        if repaired.untrusted:
            self.consents.revoke(
                where=lambda each: (
                    each.kind is ConsentKind.USE and each.digest in repaired.untrusted and not each.place
                )
            )
        self.file.write(repaired.state.to_data())
        self._notice(repaired.notice)
        return repaired.state

    def _kept_selection(self) -> str | None:
        try:
            kept = (self.selection_file.read() or {}).get("selection")
        except (DamagedFileError, RegistryError):
            return None
        return kept if isinstance(kept, str) else None

    def _notice(self, text: str) -> None:
        logger.warning(text)
        self.notices.append(text)
