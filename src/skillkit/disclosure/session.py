"""What one conversation knows: which skills are active, and the catalogue it was shown."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from threading import RLock
from typing import Any
from uuid import uuid4

from skillkit.core.codec import ShapeError, decode, encode
from skillkit.core.names import canonical_name
from skillkit.core.path_patterns import relative_name
from skillkit.core.sources import project_root
from skillkit.disclosure.exceptions import SessionDataError

VERSION = 1
MAX_FILES = 500
"""Files in play that a session remembers, the ones named last."""


class Origin(str, Enum):
    """How a skill became active, and so where its text is."""

    MATCHED = "matched"
    """It fitted a request: its text stands after that message of the user in every request."""
    INVOKED = "invoked"
    """The user named it with `/name`: like matched."""
    LOADED = "loaded"
    """The model asked for it: its text is the result of that tool call, in the messages."""


@dataclass(frozen=True, slots=True)
class Activation:
    """A skill in use."""

    skill_id: str
    nonce: str
    origin: Origin
    arguments: str = ""
    digest: str = ""
    """Of the tier 2 text, so that a changed skill is noticed."""
    anchor: str = ""
    """The message of the user after which the text stands; empty until it has a place."""
    by_score: bool = False
    """Whether it came in by its score alone and was never loaded, read or run."""

    @property
    def in_messages(self) -> bool:
        return self.origin is Origin.LOADED


@dataclass(frozen=True, slots=True)
class SavedSession:
    """What is kept of a session."""

    active: tuple[Activation, ...]
    recent: tuple[str, ...]
    past: Mapping[str, str]
    catalogue: str
    catalogue_digest: str
    listed: tuple[str, ...]
    id: str = ""
    turn: object = 0
    """A number; of a store that knows no whole numbers it does not count."""
    pinned: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(eq=False)
class SkillSession:
    """The memory of one conversation. Two conversations never share one; its calls may run in parallel."""

    _active: dict[str, Activation] = field(default_factory=dict)
    _recent: list[str] = field(default_factory=list)
    _past: dict[str, str] = field(default_factory=dict)
    catalogue: str = ""
    """The list that this conversation was shown, kept to the byte as long as it lasts."""
    catalogue_digest: str = ""
    listed: tuple[str, ...] = ()
    """The ids that it names."""
    _latest: str | None = None
    _doubted: frozenset[str] = frozenset()
    _pinned: frozenset[str] = frozenset()
    _dropped: frozenset[str] = frozenset()
    _files: dict[str, None] = field(default_factory=dict)
    _of_turn: tuple[str, ...] = ()
    _ordered: frozenset[str] = frozenset()
    starts_forks: bool = False
    """Whether loading a skill with `context: fork` starts a conversation and returns its result; where
    nothing can, such a skill is followed in this one."""
    fork_of: str = ""
    """The skill whose own conversation this is."""
    id: str = field(default_factory=lambda: uuid4().hex)
    """What the journal calls this conversation."""
    turn: int = 0
    """Counts the requests of the user."""
    _lock: RLock = field(default_factory=RLock, repr=False)

    def __reduce__(self) -> tuple[object, tuple[dict[str, Any]]]:
        """Frameworks copy and pickle what they keep for a conversation."""
        return SkillSession.from_data, (self.to_data(),)

    @property
    def active(self) -> tuple[Activation, ...]:
        """Skills in use, in the order in which they became active."""
        with self._lock:
            return tuple(self._active.values())

    @property
    def active_ids(self) -> tuple[str, ...]:
        return tuple(activation.skill_id for activation in self.active)

    def get(self, skill_id: str) -> Activation | None:
        with self._lock:
            return self._active.get(skill_id)

    def digest_of(self, name: str) -> str:
        """Return the digest of the text in use under a name, however it is spelt; empty without one."""
        activation = self.get(canonical_name(name))
        return "" if activation is None else activation.digest

    def activate(self, activation: Activation) -> Activation:
        """Make a skill active; what was active under its id before is superseded.

        When the same text is active already, that activation is answered and stays, so that of two
        parallel calls only one delivers.
        """
        with self._lock:
            before = self._active.get(activation.skill_id)
            doubted = activation.in_messages and activation.skill_id in self._doubted
            if before is not None and before.digest == activation.digest and not doubted:
                return before
            self._doubted -= {activation.skill_id}
            self._dropped -= {activation.skill_id}
            if before is not None:
                self._past[before.nonce] = before.skill_id
            self._active[activation.skill_id] = activation
            self._of_turn = (*self._of_turn, activation.skill_id)
            self.touch(activation.skill_id)
            return activation

    def touch(self, skill_id: str) -> None:
        """Note that a skill was used again."""
        with self._lock:
            if skill_id in self._active:
                self._recent = [*(other for other in self._recent if other != skill_id), skill_id]

    def use(self, skill_id: str) -> None:
        """Note that a skill was loaded, read or run: it is no longer one that only scored well."""
        with self._lock:
            if (activation := self._active.get(skill_id)) is not None:
                self._active[skill_id] = replace(activation, by_score=False)
            self.touch(skill_id)

    def only_by_score(self) -> tuple[str, ...]:
        """The skills in use that came in by their score alone and were never used."""
        return tuple(activation.skill_id for activation in self.active if activation.by_score)

    def drop(self, skill_id: str) -> None:
        """Stop using a skill because somebody said so; it comes back only when it is asked for."""
        with self._lock:
            self.deactivate(skill_id)
            self._dropped |= {skill_id}

    @property
    def dropped(self) -> frozenset[str]:
        with self._lock:
            return self._dropped

    def least_recent(self) -> tuple[str, ...]:
        """The skills in use, the one that was used longest ago first."""
        with self._lock:
            return tuple(self._recent)

    def bring_back(self, skill_id: str) -> None:
        """Text that is no longer among the messages stands after the user's next message."""
        with self._lock:
            if (activation := self._active.get(skill_id)) is not None:
                origin = Origin.MATCHED if activation.in_messages else activation.origin
                self._active[skill_id] = replace(activation, origin=origin, anchor="")

    def anchor(self, skill_id: str, anchor: str) -> None:
        """Note after which message of the user a text stands."""
        with self._lock:
            if (activation := self._active.get(skill_id)) is not None:
                self._active[skill_id] = replace(activation, anchor=anchor)

    def pin(self, skill_id: str) -> None:
        """Keep a skill that is in use, however many others are."""
        with self._lock:
            self._pinned |= {skill_id}

    @property
    def pinned(self) -> frozenset[str]:
        with self._lock:
            return self._pinned

    @property
    def files(self) -> tuple[str, ...]:
        """The files in play, relative to the project: what decides whether a skill with `paths` counts."""
        with self._lock:
            return tuple(self._files)

    def add_files(self, names: Iterable[str | Path], project: Path | None = None) -> None:
        """Note that the conversation is about these files; those outside of the project are left out."""
        root = project_root() if project is None else project
        found = [relative_name(os.fspath(name), root) for name in dict.fromkeys(names)]
        with self._lock:
            for name in found:
                if name is not None:
                    self._files.pop(name, None)
                    self._files[name] = None
            for oldest in list(self._files)[:-MAX_FILES]:
                del self._files[oldest]

    def doubt(self, loaded: frozenset[str]) -> None:
        """Nobody here can see whether the messages still carry these skills: a load delivers them again."""
        with self._lock:
            self._doubted = loaded

    def deactivate(self, skill_id: str) -> None:
        with self._lock:
            if (activation := self._active.pop(skill_id, None)) is not None:
                self._recent.remove(skill_id)
                self._pinned -= {skill_id}
                self._past[activation.nonce] = skill_id

    def superseded(self) -> Mapping[str, str]:
        """Nonces of texts that no longer count, with the skill they belong to."""
        with self._lock:
            return dict(self._past)

    def begin_request(self, request: str) -> bool:
        """Note the request and return whether it is new: a turn may take several requests to a model."""
        with self._lock:
            news = request != self._latest
            self._latest = request
            self.turn += news
            if news:
                self._of_turn, self._ordered = (), frozenset()
            return news

    @property
    def of_turn(self) -> tuple[str, ...]:
        """The skills that came into use since the user spoke last, in their order."""
        with self._lock:
            return self._of_turn

    def order(self, skill_id: str) -> None:
        """Note that the user named a skill that is to run as a conversation of its own."""
        with self._lock:
            self._ordered |= {skill_id}

    def is_ordered(self, skill_id: str) -> bool:
        with self._lock:
            return skill_id in self._ordered

    @property
    def latest_request(self) -> str:
        """The request that is being answered; empty before the first."""
        with self._lock:
            return self._latest or ""

    def show(self, catalogue: str, digest: str, listed: Sequence[str]) -> None:
        """Freeze the catalogue of this conversation."""
        with self._lock:
            self.catalogue, self.catalogue_digest, self.listed = catalogue, digest, tuple(listed)

    def to_data(self) -> dict[str, Any]:
        """Everything that is needed to go on later, as `json.dumps` takes it."""
        with self._lock:
            saved = SavedSession(
                active=tuple(self._active.values()),
                recent=tuple(self._recent),
                past=self._past,
                catalogue=self.catalogue,
                catalogue_digest=self.catalogue_digest,
                listed=self.listed,
                id=self.id,
                turn=self.turn,
                pinned=tuple(sorted(self._pinned)),
                files=tuple(self._files),
                dropped=tuple(sorted(self._dropped)),
            )
            return {"version": VERSION, **encode(saved)}

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> "SkillSession":
        """The session that `to_data` described; anything else raises SessionDataError."""
        version = data.get("version")
        if version != VERSION:
            raise SessionDataError(
                f"Skill session data has version {version!r}; this program reads {VERSION}. "
                "Start a new session."
            )
        try:
            saved = decode(SavedSession, data, forgiving=True)
        except ShapeError as error:
            raise SessionDataError(
                f"Skill session data is damaged ({error}). Start a new session."
            ) from error
        session = cls()
        session._active = {activation.skill_id: activation for activation in saved.active}
        session._past = dict(saved.past)
        recent = [name for name in saved.recent if name in session._active]
        session._recent = [*(name for name in session._active if name not in recent), *recent]
        session.show(saved.catalogue, saved.catalogue_digest, saved.listed)
        session.id = saved.id or session.id
        session._pinned = frozenset(saved.pinned) & session._active.keys()
        session._dropped = frozenset(saved.dropped)
        session._files = dict.fromkeys(saved.files[-MAX_FILES:])
        session.turn = saved.turn if isinstance(saved.turn, int) else 0
        return session
