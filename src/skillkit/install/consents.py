"""consents.json: the user's approvals of digests, in the user's home and never in a repository."""

import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from skillkit.core.codec import decode, encode
from skillkit.core.disk import (
    DamagedFileError,
    JsonFile,
    agent_home,
    clear_temporary,
    file_stamp,
    locked,
    real_path,
)
from skillkit.core.events import NO_JOURNAL, Event, Kind, Writer
from skillkit.core.grants import HIDDEN, Grants
from skillkit.core.limits import LOCK_SECONDS
from skillkit.core.text import escape_hidden

logger = logging.getLogger(__name__)

FORMAT = 1


class ConsentKind(str, Enum):
    """Kinds of consent."""

    USE = "use"
    """The skill may be used, and its code imported."""
    RUN = "run"
    """Its scripts may run without a question."""
    REMOTE = "remote"
    """Its files may be taken from a server."""
    PACKAGES = "packages"
    """Its scripts get the packages of a lock."""
    NPM = "npm"
    """Its scripts get the packages of Node.js of a lock."""
    PROJECT = "project"
    """Its scripts may read the folder `place`, without its keys."""
    HOST = "host"
    """Its scripts may reach the host `place`."""


@dataclass(frozen=True, slots=True)
class Consent:
    """One approval, bound to the digest of a whole tree."""

    kind: ConsentKind
    digest: str
    skill: str
    """The name, as it was when the user was asked."""
    place: str = ""
    """Location of the bytes: a folder, or the address at `server`; empty for an installed skill."""
    server: str = ""
    """Whose skill it is, for those taken from a server."""
    granted_at: str = ""
    detail: str = ""
    """The lock of packages, for Node.js as JSON, or patterns of names that a project hides, one a line."""

    @staticmethod
    def from_data(data: Any) -> "Consent":
        """Parse a consent. Raises ValueError if it is invalid."""
        consent = decode(Consent, data, forgiving=True)
        if not consent.digest:
            raise ValueError("invalid digest")
        return consent


class _CachedConsents(NamedTuple):
    """The consents of a file, valid while its stamp is unchanged."""

    stamp: object
    consents: tuple[Consent, ...]
    digests: dict[ConsentKind, frozenset[str]]

    @classmethod
    def of(cls, stamp: object, consents: tuple[Consent, ...]) -> "_CachedConsents":
        digests = {
            kind: frozenset(each.digest for each in consents if each.kind is kind) for kind in ConsentKind
        }
        return cls(stamp, consents, digests)


class ConsentFile:
    """Reads without a lock, writes under one; invalid consents are ignored."""

    def __init__(
        self,
        home: Path | None = None,
        *,
        notice: Callable[[str], object] = logger.warning,
        journal: Writer = NO_JOURNAL,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.home = Path(home) if home is not None else agent_home()
        self.file = JsonFile(self.home / "consents.json", FORMAT)
        self._notice = notice
        self._journal = journal
        self._now = now
        self._known = _CachedConsents(None, (), {})
        self._warned = False

    def load(self) -> tuple[Consent, ...]:
        """Return every consent; a damaged file is reported, kept aside and counts as empty.

        Raises StateFileError for a file of a newer skillkit and for one that cannot be opened.
        """
        return self._current().consents

    def digests(self, kind: ConsentKind) -> frozenset[str]:
        """Return the approved digests."""
        return self._current().digests.get(kind, frozenset())

    def _current(self) -> "_CachedConsents":
        # One value, replaced as a whole: a slow thread must not restore a revoked consent.
        known, stamp = self._known, file_stamp(self.file.path)
        if stamp is None or stamp != known.stamp:
            known = self._known = _CachedConsents.of(stamp, self._read())
        return known

    def grant(self, *consents: Consent) -> None:
        """Record consents; each replaces an earlier one about the same subject."""
        moment = self._now().isoformat(timespec="seconds")
        dated = {_subject(each): replace(each, granted_at=each.granted_at or moment) for each in consents}
        with locked(self._lock, patience=LOCK_SECONDS):
            kept = [each for each in self._read_locked() if _subject(each) not in dated]
            self._write([*kept, *dated.values()])
        self._record(dated.values(), granted=True)

    def revoke(self, *, where: Callable[[Consent], bool]) -> tuple[Consent, ...]:
        """Delete the consents that `where` selects; return them."""
        with locked(self._lock, patience=LOCK_SECONDS):
            consents = self._read_locked()
            gone = tuple(each for each in consents if where(each))
            if gone:
                self._write([each for each in consents if each not in gone])
        self._record(gone, granted=False)
        return gone

    def _record(self, consents: Iterable[Consent], *, granted: bool) -> None:
        for each in consents:
            data = {"kind": each.kind.value, "granted": granted}
            self._journal.record(Event(Kind.CONSENTED, each.skill, each.digest, data))

    @property
    def _lock(self) -> Path:
        return self.home / "consents.lock"

    def _read(self) -> tuple[Consent, ...]:
        self._warn_of_others()
        try:
            return self._kept()
        except DamagedFileError as error:
            if not os.access(self.home, os.W_OK):
                self._notice(f"{self.file.path} is {error}; its approvals are ignored")
                return ()
        with locked(self._lock, patience=LOCK_SECONDS):
            return self._read_locked()

    def _warn_of_others(self) -> None:
        """Warn if every user of this machine could approve a skill."""
        with suppress(OSError):
            if os.stat(self.home).st_mode & 0o002 and not self._warned:
                self._warned = True
                home = escape_hidden(str(self.home))
                self._notice(f"{home} is writable by every user. Fix: chmod o-w {home}")

    def _kept(self) -> tuple[Consent, ...]:
        data = self.file.read()
        if data is None:
            return ()
        try:
            return tuple(map(Consent.from_data, data["consents"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedFileError(f"with an invalid record ({type(error).__name__})") from error

    def _read_locked(self) -> tuple[Consent, ...]:
        """Return the consents; a damaged file is kept aside."""
        try:
            return self._kept()
        except DamagedFileError as error:
            aside = self.file.set_aside()
            self._notice(
                f"{self.file.path} was {error}. It is kept as {aside}; its approvals are ignored: "
                "approve again what you trust."
            )
            return ()

    def _write(self, consents: Iterable[Consent]) -> None:
        clear_temporary(self.home, self.file.path.name)
        ordered = sorted(consents, key=lambda each: (each.skill, each.kind.value, each.digest, each.place))
        self.file.write({"consents": [encode(each) for each in ordered]})


def _subject(consent: Consent) -> tuple[str, ...]:
    """Return the subject of a consent; for a server the address, since its bytes may change."""
    if consent.kind is ConsentKind.REMOTE:
        return (consent.kind.value, consent.server, consent.place)
    if consent.kind in (ConsentKind.PROJECT, ConsentKind.HOST):
        return (consent.kind.value, consent.digest, consent.place)
    return (consent.kind.value, consent.digest)


def add_parts(
    grants: Grants,
    digest: str,
    consents: ConsentFile,
    folder: Path | None = None,
    hidden: Iterable[str] = (),
) -> Grants:
    """Return `grants` with the parts for `digest`; a project counts while somebody works in it.

    `hidden` are names that the user hides in every project.
    """
    here = real_path(folder or Path.cwd())
    for each in consents.load():
        if each.digest != digest:
            continue
        if each.kind is ConsentKind.PACKAGES:
            grants = replace(grants, packages=each.detail)
        elif each.kind is ConsentKind.NPM:
            grants = replace(grants, node_packages=each.detail)
        elif each.kind is ConsentKind.HOST:
            grants = replace(grants, hosts=tuple(dict.fromkeys((*grants.hosts, each.place))))
        elif each.kind is ConsentKind.PROJECT and here.is_relative_to(each.place):
            grants = show_project(grants, Path(each.place), (*each.detail.split(), *hidden))
    return grants


def show_project(grants: Grants, folder: Path, hidden: Iterable[str]) -> Grants:
    """Return `grants` plus read access to a folder, except default hidden paths and `hidden`."""
    return replace(grants, project=folder, hidden=tuple(dict.fromkeys((*HIDDEN, *hidden))))


def packages_consent(skill: str, digest: str, requirements: list[str], lock: str) -> Consent:
    """Return a consent to a lock; its place names the source of the lock."""
    return Consent(ConsentKind.PACKAGES, digest, skill, place=", ".join(requirements), detail=lock)


def npm_consent(skill: str, digest: str, requirements: list[str], locks: Mapping[str, object]) -> Consent:
    """Return a consent to npm locks, by the folder of the skill that has the `package.json`."""
    detail = json.dumps(locks, sort_keys=True)
    return Consent(ConsentKind.NPM, digest, skill, place=", ".join(requirements), detail=detail)


def project_consent(skill: str, digest: str, folder: Path, hidden: Iterable[str]) -> Consent:
    """Return a consent to read `folder`, except default hidden paths and `hidden`."""
    return Consent(ConsentKind.PROJECT, digest, skill, place=str(folder), detail="\n".join(hidden))
