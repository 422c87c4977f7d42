"""The registry: owners, skills, versions and their states, as a caller may see them."""

import json
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.core.text import shortened
from skillkit.install.capabilities import Capabilities
from skillkit.install.sources.unpack import unpack
from skillkit.install.tree import TreeFile
from skillkit.registry.access import PUBLISH, REVIEW, Caller, Purpose, State, Visibility
from skillkit.registry.blobs import Blobs
from skillkit.registry.database import Database, Row, Search
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
"""Matches that a search scores; the earliest published come first."""
NEAREST_RANKED = 1 << 30
MAX_WORDS = 12
MAX_LISTED = 200
_WORD = re.compile(r"\w+")
_OWNED = (
    "SELECT skill.*, owner.name AS owner_name, owner.private AS owner_private,"
    " shown.number AS latest_number, shown.changelog AS latest_changelog"
    " FROM skill JOIN owner ON owner.id = skill.owner LEFT JOIN version AS shown ON shown.id = skill.latest"
)


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A skill of an owner; `latest` is the id of its latest version."""

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
    latest_number: str | None
    latest_changelog: str | None

    @classmethod
    def of(cls, row: Row) -> "SkillRow":
        return cls(**_known(cls, {**row, "owner_private": bool(row["owner_private"])}))

    @property
    def title(self) -> str:
        return f"{self.owner_name}/{self.name}"


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version: immutable bytes and a state."""

    id: int
    skill: int
    number: str
    header: str
    digest: str
    fingerprint: str
    git: str
    """The id of git for the tree of its files."""
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
        read = {
            "files": tuple(parse_json(row["files"])),
            "cases": tuple(parse_json(row["cases"])),
            "checks": parse_json(row["checks"]),
            "card": Capabilities(**_known(Capabilities, card)),
            "state": State(row["state"]),
        }
        return cls(**_known(cls, {**row, **read}))

    @property
    def order(self) -> Version:
        return Version.parse(self.number)


def _known(kind: type, values: Row) -> dict[str, Any]:
    """Return the values that are fields of `kind`; a newer program may have written more."""
    return {field.name: values[field.name] for field in fields(kind) if field.name in values}


class Registry:
    """Everything that is published; methods that take a caller hide what it may not see."""

    def __init__(self, database: Database, blobs: Blobs, visibility: Visibility | None = None) -> None:
        """Without a visibility, it is that of the last server that was started."""
        self.database = database
        self.blobs = blobs
        self.visibility = visibility or Visibility(self.setting("private") == "yes")

    # Settings

    def setting(self, name: str) -> str:
        row = self.database.row("SELECT value FROM setting WHERE name = ?", name)
        return str(row["value"]) if row else ""

    def keep_setting(self, name: str, value: str) -> None:
        """Store a setting, inside a transaction."""
        self.database.run("DELETE FROM setting WHERE name = ?", name)
        self.database.insert("setting", {"name": name, "value": value})

    # Owners

    def add_owner(self, name: str, actor: Caller, *, private: bool = False) -> int:
        """Create an owner for good. Raises ConflictError if the name looks like an existing one."""
        check_owner(name)
        with self.database.writing() as database:
            if database.row("SELECT id FROM owner WHERE folded = ?", fold(name)):
                raise ConflictError(f"'{name}' looks like the name of an existing owner")
            values = {"name": name, "folded": fold(name), "private": int(private), "created": time.time()}
            owner = database.insert("owner", values)
            self.record(actor, "owner added", owner, name)
        return owner

    def owner(self, name: str) -> Row | None:
        """Return the owner of this name in any case, without a check of visibility."""
        found = self.database.row("SELECT * FROM owner WHERE folded = ?", fold(name))
        return found if found and found["name"].lower() == name.lower() else None

    def readable_owner(self, caller: Caller, name: str) -> Row:
        """Return the owner, if the caller may read it. Raises MissingError."""
        found = self.owner(name)
        if found is None or not self.visibility.reads(caller, found["id"], bool(found["private"])):
            raise MissingError
        return found

    def owner_name(self, identity: int) -> str:
        row = self.database.row("SELECT name FROM owner WHERE id = ?", identity)
        assert row is not None  # an owner is never deleted
        return str(row["name"])

    def owners(self) -> list[Row]:
        return self.database.rows("SELECT * FROM owner ORDER BY name")

    # Skills

    def skill(self, caller: Caller, name: str, owner: str = "", purpose: Purpose = Purpose.SEE) -> SkillRow:
        """Return the skill of an owner; a bare name is enough if the caller sees one such skill.

        If every version was yanked or blocked, it is found only by owner and exact version.
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
        """Return whether the caller may know that the skill exists: it can see or fetch a version."""
        if not self.visibility.reads(caller, skill.owner, skill.owner_private):
            return False
        if skill.latest is not None or caller.has(PUBLISH, skill.owner) or caller.has(REVIEW, skill.owner):
            return True
        if not exact:
            return False
        states = self.database.rows("SELECT DISTINCT state FROM version WHERE skill = ?", skill.id)
        return any(row["state"] in (State.YANKED, State.BLOCKED) for row in states)

    def skills_of(self, caller: Caller, owner: str) -> list[SkillRow]:
        """Return the installable skills of an owner. Raises MissingError if there are none."""
        found = self.readable_owner(caller, owner)
        rows = self.database.rows(
            f"{_OWNED} WHERE skill.owner = ? AND skill.latest IS NOT NULL ORDER BY skill.name", found["id"]
        )
        if not rows and not (caller.has(PUBLISH, found["id"]) or caller.has(REVIEW, found["id"])):
            raise MissingError
        return [SkillRow.of(row) for row in rows]

    def newest(self, caller: Caller, limit: int, before: float | None = None) -> list[SkillRow]:
        """Return skills by their latest version, newest first."""
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
        """Return the skills that have every word, best first; if there are none, those that have any."""
        words = list(dict.fromkeys(_WORD.findall(text[:1000].lower())))[:MAX_WORDS]
        if not words:
            return []
        found = self._found(caller, words, every=True, limit=limit)
        if not found and len(words) > 1:
            found = self._found(caller, words, every=False, limit=limit)
        return found

    def nearest(self, caller: Caller, text: str, limit: int) -> list[SkillRow]:
        """Return the skills that share most words with a text; all matches are scored."""
        words = list(dict.fromkeys(_WORD.findall(text[:4000].lower())))[:64]
        return self._found(caller, words, every=False, limit=limit, ranked=NEAREST_RANKED) if words else []

    def _found(
        self, caller: Caller, words: list[str], *, every: bool, limit: int, ranked: int = RANKED
    ) -> list[SkillRow]:
        condition, values = self.visibility.condition(caller)
        asked = Search(words, every, condition, values, min(limit, MAX_LISTED), ranked)
        return self._skills(self.database.search(asked))

    def _skills(self, ids: list[int]) -> list[SkillRow]:
        places = ", ".join("?" for _ in ids)
        rows = self.database.rows(f"{_OWNED} WHERE skill.id IN ({places})", *ids) if ids else []
        by_id = {row["id"]: SkillRow.of(row) for row in rows}
        return [by_id[one] for one in ids if one in by_id]

    def skill_by_id(self, identity: int) -> SkillRow:
        return self._skills([identity])[0]

    # Versions

    def version(self, caller: Caller, skill: SkillRow, number: str, purpose: Purpose) -> VersionRow:
        """Return one version; by default the latest. Raises MissingError, BlockedError."""
        if number in ("", "latest"):
            if skill.latest is None:
                raise MissingError
            found = self.version_by_id(skill.latest)
        else:
            row = self.database.row("SELECT * FROM version WHERE skill = ? AND number = ?", skill.id, number)
            if row is None:
                raise MissingError
            found = VersionRow.of(row)
        self._check(caller, skill, found, purpose)
        return found

    def latest(self, caller: Caller, skills: Iterable[SkillRow]) -> list[tuple[SkillRow, VersionRow]]:
        """Return skills with their latest versions, without those taken back since their rows were read."""
        found = []
        for skill in skills:
            with suppress(MissingError):
                found.append((skill, self.version(caller, skill, "", Purpose.LIST)))
        return found

    def version_by_id(self, identity: int) -> VersionRow:
        """Return a version, without a check of visibility."""
        row = self.database.row("SELECT * FROM version WHERE id = ?", identity)
        assert row is not None  # a version is never deleted
        return VersionRow.of(row)

    def file(self, caller: Caller, skill: SkillRow, number: str, path: str) -> tuple[VersionRow, TreeFile]:
        """Return a version and one file of it. Raises MissingError, BlockedError."""
        version = self.version(caller, skill, number, Purpose.FETCH)
        found = self.files(version).get(path)
        if found is None:
            raise MissingError
        return version, found

    def files(self, version: VersionRow) -> dict[str, TreeFile]:
        return unpack(self.blobs.get(version.tar), "the archive")

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
        """Return the versions that the caller may see, the highest first."""
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
        """Return every number that was ever used."""
        return [
            row["number"] for row in self.database.rows("SELECT number FROM version WHERE skill = ?", skill)
        ]

    def match_fingerprint(self, caller: Caller, skill: SkillRow, fingerprint: str) -> VersionRow | None:
        """Return the highest published or held version with this fingerprint."""
        states = (State.PUBLISHED, State.HELD)
        found = (each for each in self.versions(caller, skill) if each.state in states)
        return next((each for each in found if each.fingerprint == fingerprint), None)

    def add_downloads(self, counted: Mapping[int, int]) -> None:
        with self.database.writing() as database:
            for skill, count in counted.items():
                database.run("UPDATE skill SET downloads = downloads + ? WHERE id = ?", count, skill)

    def held(self, caller: Caller) -> list[tuple[SkillRow, VersionRow]]:
        """Return the held versions of owners that the caller reviews or publishes, oldest first."""
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
            raise RejectedError(f"Unknown action '{action}'")
        scope, before, after = _ACTIONS[action]
        version = self.version(caller, skill, number, Purpose.SEE)
        if not caller.has(scope, skill.owner):
            raise ForbiddenError(f"The token cannot {action} versions of {skill.owner_name}")
        if action == "approve" and version.publisher == caller.user and not self_review:
            raise ForbiddenError("Publishers cannot approve their own versions")
        if action in ("refuse", "block") and not reason.strip():
            raise RejectedError(f"Give a reason to {action} a version")
        with self.database.writing() as database:
            changed = database.run(
                f"UPDATE version SET state = {'earlier' if after is None else '?'}, earlier = state,"
                " reason = ?, published = COALESCE(published, ?)"
                f" WHERE id = ? AND state IN ({_quoted(before)})",
                *(() if after is None else (after.value,)),
                reason.strip(),
                time.time() if after is State.PUBLISHED else None,
                version.id,
            )
            if not changed:
                raise ConflictError(f"{skill.title}@{version.number} is {version.state.value}")
            self.set_latest(skill.id)
            subject = f"{skill.title}@{version.number}"
            self.record(caller, f"{action}{_PAST[action]}", skill.owner, subject, reason.strip())
            return self.version_by_id(version.id)

    def set_latest(self, skill: int) -> None:
        """Point a skill to its highest published release, or prerelease; unlist it if it has none."""

        def rank(row: Row) -> tuple[bool, Version]:
            version = Version.parse(row["number"])
            return version.is_release, version

        rows = self.database.rows(
            "SELECT version.id, number, version.created, checks, skill.name FROM version"
            " JOIN skill ON skill.id = version.skill WHERE skill.id = ? AND state = 'published'",
            skill,
        )
        best = max(rows, key=rank, default=None)
        if best is None:
            self.database.run("UPDATE skill SET latest = NULL WHERE id = ?", skill)
            self.database.unindex(skill)
            return
        description = str(parse_json(best["checks"]).get("description", ""))
        self.database.run(
            "UPDATE skill SET latest = ?, description = ?, updated = ? WHERE id = ?",
            best["id"],
            description,
            best["created"],
            skill,
        )
        self.database.index(skill, best["name"], description)

    # Events

    def record(self, actor: Caller, action: str, owner: int | None, subject: str, detail: str = "") -> None:
        """Record an event, inside the transaction of the change."""
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

    def events(self, caller: Caller) -> list[Row]:
        """Return the last events, newest first: all of them for a reviewer of all owners, else one's own."""
        owners = [one.owner for one in caller.grants if one.owner and one.scope in (PUBLISH, REVIEW)] or [0]
        own = f"owner IN ({', '.join('?' for _ in owners)})"
        condition, values = ("1 = 1", []) if caller.has(REVIEW) else (own, owners)
        return self.database.rows(
            f"SELECT * FROM event WHERE {condition} ORDER BY id DESC LIMIT ?", *values, MAX_LISTED
        )


_ACTIONS = {
    "approve": (REVIEW, (State.HELD,), State.PUBLISHED),
    "refuse": (REVIEW, (State.HELD,), State.REFUSED),
    "yank": (PUBLISH, (State.PUBLISHED,), State.YANKED),
    "unyank": (PUBLISH, (State.YANKED,), State.PUBLISHED),
    "block": (REVIEW, (State.PUBLISHED, State.YANKED), State.BLOCKED),
    "unblock": (REVIEW, (State.BLOCKED,), None),
}
"""Scope, the states before, the state after; None is the one before that."""
_PAST = {"approve": "d", "refuse": "d", "yank": "ed", "unyank": "ed", "block": "ed", "unblock": "ed"}


def _quoted(states: Iterable[State]) -> str:
    return ", ".join(f"'{state.value}'" for state in states)


def as_json(value: object) -> str:
    """Return the JSON in which columns store lists and objects."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
