"""The state of one conversation: active skills and the catalogue it was shown."""

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
"""Limit of files in play that a session remembers; the earliest are dropped."""


class Origin(str, Enum):
    """How a skill became active, which determines where its text is."""

    MATCHED = "matched"
    """It matched a request: every request contains its text after that user message."""
    INVOKED = "invoked"
    """The user named it with `/name`; otherwise like matched."""
    LOADED = "loaded"
    """The model loaded it: the messages contain its text as the result of that tool call."""


@dataclass(frozen=True, slots=True)
class Activation:
    """An active skill."""

    skill_id: str
    nonce: str
    origin: Origin
    arguments: str = ""
    digest: str = ""
    """Digest of the tier 2 text, to detect a changed skill."""
    anchor: str = ""
    """The user message that the text follows; empty until it has a place."""
    by_score: bool = False
    """Whether it was activated by its score alone and never loaded, read or run."""

    @property
    def in_messages(self) -> bool:
        return self.origin is Origin.LOADED


@dataclass(frozen=True, slots=True)
class SavedSession:
    """The saved state of a session."""

    active: tuple[Activation, ...]
    recent: tuple[str, ...]
    past: Mapping[str, str]
    catalogue: str
    catalogue_digest: str
    listed: tuple[str, ...]
    id: str = ""
    turn: object = 0
    """An integer; ignored in data from stores without integers."""
    pinned: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(eq=False)
class SkillSession:
    """The state of one conversation. Two conversations never share one; calls of one may run in parallel."""

    _active: dict[str, Activation] = field(default_factory=dict)
    _recent: list[str] = field(default_factory=list)
    _past: dict[str, str] = field(default_factory=dict)
    catalogue: str = ""
    """The catalogue that this conversation was shown, byte-identical for its lifetime."""
    catalogue_digest: str = ""
    listed: tuple[str, ...] = ()
    """The ids in the catalogue."""
    _latest: str | None = None
    _doubted: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    """Skills that stay active regardless of the limit."""
    dropped: frozenset[str] = frozenset()
    """Deactivated skills: only an explicit request activates them again."""
    ordered: frozenset[str] = frozenset()
    """Skills with `context: fork` that the user named in this turn."""
    of_turn: tuple[str, ...] = ()
    """Skills activated since the user's last message, in order."""
    _files: dict[str, None] = field(default_factory=dict)
    starts_forks: bool = False
    """Whether loading a skill with `context: fork` starts a conversation and returns its result; otherwise
    such a skill is followed in this one."""
    fork_of: str = ""
    """The skill that runs in this forked conversation."""
    id: str = field(default_factory=lambda: uuid4().hex)
    """Id of the conversation in the journal."""
    turn: int = 0
    """Number of requests of the user."""
    _lock: RLock = field(default_factory=RLock, repr=False)

    def __reduce__(self) -> tuple[object, tuple[dict[str, Any]]]:
        """Support frameworks that copy and pickle their conversation state."""
        return SkillSession.from_data, (self.to_data(),)

    @property
    def active(self) -> tuple[Activation, ...]:
        """Active skills, in order of activation."""
        with self._lock:
            return tuple(self._active.values())

    @property
    def active_ids(self) -> tuple[str, ...]:
        return tuple(activation.skill_id for activation in self.active)

    def get(self, skill_id: str) -> Activation | None:
        with self._lock:
            return self._active.get(skill_id)

    def digest_of(self, name: str) -> str:
        """Return the digest of the active text under a name in any spelling; empty if inactive."""
        activation = self.get(canonical_name(name))
        return "" if activation is None else activation.digest

    def activate(self, activation: Activation) -> Activation:
        """Activate a skill; an earlier activation of the same id is superseded.

        If the same text is already active, that activation is kept and returned, so that only one of two
        parallel calls delivers.
        """
        with self._lock:
            before = self._active.get(activation.skill_id)
            doubted = activation.in_messages and activation.skill_id in self._doubted
            if before is not None and before.digest == activation.digest and not doubted:
                return before
            self._doubted -= {activation.skill_id}
            self.dropped -= {activation.skill_id}
            if before is not None:
                self._past[before.nonce] = before.skill_id
            self._active[activation.skill_id] = activation
            self.of_turn = (*self.of_turn, activation.skill_id)
            self.touch(activation.skill_id)
            return activation

    def touch(self, skill_id: str) -> None:
        """Record that a skill was used again."""
        with self._lock:
            if skill_id in self._active:
                self._recent = [*(other for other in self._recent if other != skill_id), skill_id]

    def use(self, skill_id: str) -> None:
        """Record that a skill was loaded, read or run, so that it no longer counts as activated by score
        alone."""
        with self._lock:
            self._note(skill_id, by_score=False)
            self.touch(skill_id)

    def only_by_score(self) -> tuple[str, ...]:
        """Active skills that were activated by their score alone and never used."""
        return tuple(activation.skill_id for activation in self.active if activation.by_score)

    def drop(self, skill_id: str) -> None:
        """Deactivate a skill on request; only an explicit request activates it again."""
        with self._lock:
            self.deactivate(skill_id)
            self.dropped |= {skill_id}

    def least_recent(self) -> tuple[str, ...]:
        """Active skills, the least recently used first."""
        with self._lock:
            return tuple(self._recent)

    def bring_back(self, skill_id: str) -> None:
        """Move a text that is missing from the messages after the user's next message."""
        with self._lock:
            if (activation := self._active.get(skill_id)) is not None:
                origin = Origin.MATCHED if activation.in_messages else activation.origin
                self._note(skill_id, origin=origin, anchor="")

    def anchor(self, skill_id: str, anchor: str) -> None:
        """Record the user message that a text follows."""
        with self._lock:
            self._note(skill_id, anchor=anchor)

    def _note(self, skill_id: str, **changes: Any) -> None:
        if (activation := self._active.get(skill_id)) is not None:
            self._active[skill_id] = replace(activation, **changes)

    def pin(self, skill_id: str) -> None:
        """Keep an active skill regardless of the limit."""
        with self._lock:
            self.pinned |= {skill_id}

    @property
    def files(self) -> tuple[str, ...]:
        """Files in play, relative to the project; they decide whether a skill with `paths` is offered."""
        with self._lock:
            return tuple(self._files)

    def add_files(self, names: Iterable[str | Path], project: Path | None = None) -> None:
        """Add files in play; files outside the project are ignored."""
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
        """Mark skills whose presence in the messages cannot be checked: the next load delivers them again."""
        with self._lock:
            self._doubted = loaded

    def deactivate(self, skill_id: str) -> None:
        with self._lock:
            if (activation := self._active.pop(skill_id, None)) is not None:
                self._recent.remove(skill_id)
                self.pinned -= {skill_id}
                self._past[activation.nonce] = skill_id

    def superseded(self) -> Mapping[str, str]:
        """Nonces of superseded texts, with the id of their skill."""
        with self._lock:
            return dict(self._past)

    def begin_request(self, request: str) -> bool:
        """Record the request and return whether it is new: one turn may need several model requests."""
        with self._lock:
            news = request != self._latest
            self._latest = request
            self.turn += news
            if news:
                self.of_turn, self.ordered = (), frozenset()
            return news

    def order(self, skill_id: str) -> None:
        """Record that the user named a skill with `context: fork`."""
        with self._lock:
            self.ordered |= {skill_id}

    @property
    def latest_request(self) -> str:
        """The request of the current turn; empty before the first."""
        return self._latest or ""

    def show(self, catalogue: str, digest: str, listed: Sequence[str]) -> None:
        """Store the catalogue of this conversation."""
        with self._lock:
            self.catalogue, self.catalogue_digest, self.listed = catalogue, digest, tuple(listed)

    def to_data(self) -> dict[str, Any]:
        """Return the state needed to continue later, as data for `json.dumps`."""
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
                pinned=tuple(sorted(self.pinned)),
                files=tuple(self._files),
                dropped=tuple(sorted(self.dropped)),
            )
            return {"version": VERSION, **encode(saved)}

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> "SkillSession":
        """Restore the session from the data of `to_data`; raises SessionDataError for any other data."""
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
        session.pinned = frozenset(saved.pinned) & session._active.keys()
        session.dropped = frozenset(saved.dropped)
        session._files = dict.fromkeys(saved.files[-MAX_FILES:])
        session.turn = saved.turn if isinstance(saved.turn, int) else 0
        return session
