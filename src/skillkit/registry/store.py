"""Registry: owners, skills, versions and their states, as a caller may see them."""

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.core.text import shortened
from skillkit.install.capabilities import Capabilities
from skillkit.registry.access import PUBLISH, REVIEW, Caller, Purpose, State, Visibility
from skillkit.registry.blobs import BlobFolder
from skillkit.registry.database import Database, Row
from skillkit.registry.exceptions import (
    AmbiguousError,
    BlockedError,
    ConflictError,
    ForbiddenError,
    MissingError,
    RejectedError,
)
from skillkit.registry.names import Version, check_owner, fold

RANKED = 1000
"""Matches that a search compares; the earliest published come first."""
NEAREST_RANKED = 1 << 30
MAX_WORDS = 12
MAX_LISTED = 200
_WORD = re.compile(r"\w+")
_OWNED = (
    "SELECT skill.*, owner.name AS owner_name, owner.private AS owner_private"
    " FROM skill JOIN owner ON owner.id = skill.owner"
)


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A skill of an owner; `latest` is the id of the version that it is installed at."""

    id: int
    owner: int
    owner_name: str
    owner_private: bool
    name: str
    description: str
    latest: int | None
    downloads: int
    created: float
    updated: float

    @classmethod
    def of(cls, row: Row) -> "SkillRow":
        return cls(**{**row, "owner_private": bool(row["owner_private"])})

    @property
    def title(self) -> str:
        return f"{self.owner_name}/{self.name}"


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version: bytes that never change, and a state that does."""

    id: int
    skill: int
    number: str
    header: str
    digest: str
    fingerprint: str
    tar: str
    zip: str
    files: tuple[Mapping[str, Any], ...]
    instructions: str
    card: Capabilities
    checks: Mapping[str, Any]
    cases: tuple[Mapping[str, Any], ...]
    changelog: str
    state: State
    reason: str
    publisher: str
    created: float
    published: float | None

    @classmethod
    def of(cls, row: Row) -> "VersionRow":
        card = {name: tuple(values) for name, values in parse_json(row["card"]).items()}
        return cls(
            **{
                **row,
                "files": tuple(parse_json(row["files"])),
                "cases": tuple(parse_json(row["cases"])),
                "checks": parse_json(row["checks"]),
                "card": Capabilities(**card),
                "state": State(row["state"]),
            }
        )

    @property
    def order(self) -> Version:
        return Version.parse(self.number)


class Registry:
    """Everything that is published here; every method that reads takes the caller and hides what it must."""

    def __init__(self, database: Database, blobs: BlobFolder, visibility: Visibility | None = None) -> None:
        self.database = database
        self.blobs = blobs
        self.visibility = visibility or Visibility()

    # Owners

    def add_owner(self, name: str, actor: Caller, *, private: bool = False) -> int:
        """Make an owner, for good. Raises ConflictError for a name that could be taken for another's."""
        check_owner(name)
        with self.database.writing() as database:
            if database.row("SELECT id FROM owner WHERE folded = ?", fold(name)):
                raise ConflictError(f"'{name}' cannot be told apart from an owner that exists")
            values = {"name": name, "folded": fold(name), "private": int(private), "created": time.time()}
            owner = database.insert("owner", values)
            self.record(actor, "owner added", owner, name)
        return owner

    def owner(self, name: str) -> Row | None:
        """The owner of exactly this name, or of one that differs in case alone; not hidden from anybody."""
        found = self.database.row("SELECT * FROM owner WHERE folded = ?", fold(name))
        return found if found and found["name"].lower() == name.lower() else None

    def readable_owner(self, caller: Caller, name: str) -> Row:
        """The owner, if the caller may read it. Raises MissingError."""
        found = self.owner(name)
        if found is None or not self.visibility.reads(caller, found["id"], bool(found["private"])):
            raise MissingError
        return found

    def owners(self) -> list[Row]:
        return self.database.rows("SELECT * FROM owner ORDER BY name")

    # Skills

    def skill(self, caller: Caller, name: str, owner: str = "", purpose: Purpose = Purpose.SEE) -> SkillRow:
        """The skill of an owner; a bare name is enough where the caller sees one such skill.

        One of which every version was yanked or blocked is there for those alone who name owner and version.
        Raises MissingError, AmbiguousError.
        """
        if owner:
            found_owner = self.owner(owner)
            rows = found_owner and self.database.rows(
                f"{_OWNED} WHERE skill.owner = ? AND skill.name = ?", found_owner["id"], name.lower()
            )
        else:
            rows = self.database.rows(f"{_OWNED} WHERE skill.name = ? ORDER BY owner.name", name.lower())
        found = [
            skill
            for skill in map(SkillRow.of, rows or ())
            if self._knows(caller, skill, exact=bool(owner) and purpose is Purpose.FETCH)
        ]
        if len(found) > 1:
            published = [skill for skill in found if skill.latest is not None]
            found = published if len(published) == 1 else found
        if len(found) > 1:
            raise AmbiguousError([(skill.owner_name, skill.name) for skill in found])
        if not found:
            raise MissingError
        return found[0]

    def _knows(self, caller: Caller, skill: SkillRow, *, exact: bool) -> bool:
        """Whether the caller may know that the skill exists: it sees a version, or may fetch one."""
        if not self.visibility.reads(caller, skill.owner, skill.owner_private):
            return False
        if skill.latest is not None or caller.has(PUBLISH, skill.owner) or caller.has(REVIEW, skill.owner):
            return True
        if not exact:
            return False
        states = self.database.rows("SELECT DISTINCT state FROM version WHERE skill = ?", skill.id)
        return any(row["state"] in (State.YANKED, State.BLOCKED) for row in states)

    def skills_of(self, caller: Caller, owner: str) -> list[SkillRow]:
        """The skills of an owner that can be installed. Raises MissingError for an owner without any."""
        found = self.readable_owner(caller, owner)
        rows = self.database.rows(
            f"{_OWNED} WHERE skill.owner = ? AND skill.latest IS NOT NULL ORDER BY skill.name", found["id"]
        )
        if not rows and not (caller.has(PUBLISH, found["id"]) or caller.has(REVIEW, found["id"])):
            raise MissingError
        return [SkillRow.of(row) for row in rows]

    def newest(self, caller: Caller, limit: int, before: float | None = None) -> list[SkillRow]:
        """Skills by their last publication, the newest first."""
        condition, values = self.visibility.condition(caller)
        rows = self.database.rows(
            f"{_OWNED} WHERE skill.latest IS NOT NULL AND skill.updated < ? AND ({condition})"
            " ORDER BY skill.updated DESC LIMIT ?",
            before or time.time() + 1,
            *values,
            min(limit, MAX_LISTED),
        )
        return [SkillRow.of(row) for row in rows]

    def search(self, caller: Caller, text: str, limit: int = 25) -> list[SkillRow]:
        """The skills that have every word, best first; those that have any where none has every one."""
        words = list(dict.fromkeys(_WORD.findall(text[:1000].lower())))[:MAX_WORDS]
        if not words:
            return []
        found = self._found(caller, words, every=True, limit=limit)
        if not found and len(words) > 1:
            found = self._found(caller, words, every=False, limit=limit)
        return found

    def nearest(self, caller: Caller, text: str, limit: int) -> list[SkillRow]:
        """The skills that share most words with a text, however many there are to compare."""
        words = list(dict.fromkeys(_WORD.findall(text[:4000].lower())))[:64]
        return self._found(caller, words, every=False, limit=limit, ranked=NEAREST_RANKED) if words else []

    def _found(
        self, caller: Caller, words: list[str], *, every: bool, limit: int, ranked: int = RANKED
    ) -> list[SkillRow]:
        condition, values = self.visibility.condition(caller)
        found = self.database.search(
            words,
            every=every,
            condition=condition,
            values=values,
            limit=min(limit, MAX_LISTED),
            ranked=ranked,
        )
        return self._skills(found)

    def _skills(self, ids: list[int]) -> list[SkillRow]:
        places = ", ".join("?" for _ in ids)
        rows = self.database.rows(f"{_OWNED} WHERE skill.id IN ({places})", *ids) if ids else []
        by_id = {row["id"]: SkillRow.of(row) for row in rows}
        return [by_id[one] for one in ids if one in by_id]

    def skill_by_id(self, identity: int) -> SkillRow:
        return self._skills([identity])[0]

    # Versions

    def version(self, caller: Caller, skill: SkillRow, number: str, purpose: Purpose) -> VersionRow:
        """One version; `latest`, or nothing, is the newest published. Raises MissingError, BlockedError."""
        if number in ("", "latest"):
            if skill.latest is None:
                raise MissingError
            row = self.database.row("SELECT * FROM version WHERE id = ?", skill.latest)
        else:
            row = self.database.row("SELECT * FROM version WHERE skill = ? AND number = ?", skill.id, number)
        if row is None:
            raise MissingError
        found = VersionRow.of(row)
        self._check(caller, skill, found, purpose)
        return found

    def _check(self, caller: Caller, skill: SkillRow, version: VersionRow, purpose: Purpose) -> None:
        self.visibility.check(
            caller,
            skill.owner,
            version.state,
            purpose,
            owner_private=skill.owner_private,
            reason=version.reason,
        )

    def versions(self, caller: Caller, skill: SkillRow, purpose: Purpose = Purpose.SEE) -> list[VersionRow]:
        """The versions that the caller may see, the highest first."""
        found = []
        for row in self.database.rows("SELECT * FROM version WHERE skill = ?", skill.id):
            version = VersionRow.of(row)
            try:
                self._check(caller, skill, version, purpose)
            except (MissingError, BlockedError):
                continue
            found.append(version)
        return sorted(found, key=lambda version: version.order, reverse=True)

    def numbers(self, skill: int) -> list[str]:
        """Every number that was ever used."""
        return [
            row["number"] for row in self.database.rows("SELECT number FROM version WHERE skill = ?", skill)
        ]

    def match_fingerprint(self, caller: Caller, skill: SkillRow, fingerprint: str) -> VersionRow | None:
        """The highest version with these files, as clawhub adds them up."""
        rows = self.database.rows(
            "SELECT * FROM version WHERE skill = ? AND fingerprint = ?", skill.id, fingerprint
        )
        for version in sorted(map(VersionRow.of, rows), key=lambda one: one.order, reverse=True):
            try:
                self._check(caller, skill, version, Purpose.FETCH)
            except (MissingError, BlockedError):
                continue
            return version
        return None

    def archive(
        self, caller: Caller, skill: SkillRow, number: str, form: str = "tar"
    ) -> tuple[VersionRow, bytes]:
        """The bytes of a version as .tar.gz or .zip."""
        version = self.version(caller, skill, number, Purpose.FETCH)
        return version, self.blobs.get(version.tar if form == "tar" else version.zip)

    def add_downloads(self, counted: Mapping[int, int]) -> None:
        with self.database.writing() as database:
            for skill, count in counted.items():
                database.run("UPDATE skill SET downloads = downloads + ? WHERE id = ?", count, skill)

    def held(self, caller: Caller) -> list[tuple[SkillRow, VersionRow]]:
        """What waits for a review, the oldest first; what a publisher sees is its own."""
        rows = self.database.rows("SELECT * FROM version WHERE state = 'held' ORDER BY created")
        found = [(self.skill_by_id(row["skill"]), VersionRow.of(row)) for row in rows]
        return [
            (skill, version)
            for skill, version in found
            if caller.has(REVIEW, skill.owner) or caller.has(PUBLISH, skill.owner)
        ]

    # States

    def change(
        self,
        caller: Caller,
        skill: SkillRow,
        number: str,
        action: str,
        reason: str = "",
        *,
        self_review: bool = False,
    ) -> VersionRow:
        """Approve, refuse, yank, unyank, block or unblock a version."""
        if action not in _ACTIONS:
            raise RejectedError(f"'{action}' cannot be done with a version")
        scope, before, after = _ACTIONS[action]
        version = self.version(caller, skill, number, Purpose.SEE)
        if not caller.has(scope, skill.owner) and not (scope == PUBLISH and caller.has(REVIEW, skill.owner)):
            raise ForbiddenError(f"The token does not allow to {action} versions of {skill.owner_name}")
        if action == "approve" and version.publisher == caller.user and not self_review:
            raise ForbiddenError("Whoever published a version does not approve it")
        if action in ("refuse", "block") and not reason.strip():
            raise RejectedError(f"To {action} a version, say why")
        with self.database.writing() as database:
            changed = database.run(
                "UPDATE version SET state = ?, reason = ?, published = COALESCE(published, ?)"
                f" WHERE id = ? AND state IN ({_quoted(before)})",
                after.value,
                reason.strip(),
                time.time() if after is State.PUBLISHED else None,
                version.id,
            )
            if not changed:
                raise ConflictError(f"{skill.title}@{version.number} is {version.state.value}")
            self.set_latest(skill.id)
            subject = f"{skill.title}@{version.number}"
            self.record(caller, f"{action}{_PAST[action]}", skill.owner, subject, reason.strip())
        return replace(version, state=after, reason=reason.strip())

    def set_latest(self, skill: int) -> None:
        """Let a skill be what its highest published version says; without one it is in no list."""
        rows = self.database.rows(
            "SELECT id, number, created FROM version WHERE skill = ? AND state = 'published'", skill
        )
        best = max(rows, key=lambda row: Version.parse(row["number"]), default=None)
        releases = [row for row in rows if Version.parse(row["number"]).is_release]
        best = max(releases, key=lambda row: Version.parse(row["number"]), default=best)
        if best is None:
            self.database.run("UPDATE skill SET latest = NULL WHERE id = ?", skill)
            self.database.unindex(skill)
            return
        found = self.database.row("SELECT checks FROM version WHERE id = ?", best["id"])
        assert found is not None
        description = str(parse_json(found["checks"]).get("description", ""))
        self.database.run(
            "UPDATE skill SET latest = ?, description = ?, updated = ? WHERE id = ?",
            best["id"],
            description,
            best["created"],
            skill,
        )
        name = self.database.row("SELECT name FROM skill WHERE id = ?", skill)
        assert name is not None
        self.database.index(skill, name["name"], description)

    # Events

    def record(self, actor: Caller, action: str, owner: int | None, subject: str, detail: str = "") -> None:
        """Write down who did what; call it inside the transaction that does it."""
        self.database.insert(
            "event",
            {
                "time": time.time(),
                "actor": actor.user,
                "action": action,
                "owner": owner,
                "subject": subject,
                "detail": shortened(detail, 1000),
            },
        )

    def events(self, caller: Caller, limit: int = 200, before: int | None = None) -> list[Row]:
        """What happened, the newest first: everything for a reviewer of all, else to one's own owners."""
        owners = sorted({one.owner for one in caller.grants if one.owner and one.scope in (PUBLISH, REVIEW)})
        condition, values = "1 = 1", []
        if not (caller.has(REVIEW)):
            condition = f"owner IN ({', '.join('?' for _ in owners)})" if owners else "1 = 0"
            values = list(owners)
        return self.database.rows(
            f"SELECT * FROM event WHERE id < ? AND ({condition}) ORDER BY id DESC LIMIT ?",
            before or 1 << 62,
            *values,
            min(limit, 1000),
        )


_ACTIONS = {
    "approve": (REVIEW, (State.HELD,), State.PUBLISHED),
    "refuse": (REVIEW, (State.HELD,), State.REFUSED),
    "yank": (PUBLISH, (State.PUBLISHED,), State.YANKED),
    "unyank": (PUBLISH, (State.YANKED,), State.PUBLISHED),
    "block": (REVIEW, (State.PUBLISHED, State.YANKED), State.BLOCKED),
    "unblock": (REVIEW, (State.BLOCKED,), State.PUBLISHED),
}
_PAST = {"approve": "d", "refuse": "d", "yank": "ed", "unyank": "ed", "block": "ed", "unblock": "ed"}


def _quoted(states: Iterable[State]) -> str:
    return ", ".join(f"'{state.value}'" for state in states)


def as_json(value: object) -> str:
    """The form in which columns hold lists and objects."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
