"""SkillMatcher: returns the skills that match a request, or none."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, NamedTuple, Protocol

from skillkit.core.cache import Stamp
from skillkit.core.content import stamp_of
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.matching.calibration import CALIBRATIONS
from skillkit.matching.lexical import BodyReader, LexicalScorer, read_body
from skillkit.matching.match import Match
from skillkit.matching.naming import NameFinder
from skillkit.matching.request import Request
from skillkit.matching.semantic import Embedder, EmbeddingScorer
from skillkit.matching.settings import MatchingSettings, Mode
from skillkit.matching.triggers import TriggerFinder

THRESHOLD = 0.5
"""Minimum confidence of a match by score; the calibration maps every mode's threshold to it."""
MARKED, ORDERED = 1.0, 0.95
"""Scores of a skill written as `/name`, and of one requested by name otherwise."""
NEAR_MISSES = 3


class Scorer(Protocol):
    """Scores skills, identified by number, for a request."""

    @property
    def signals(self) -> tuple[str, ...]:
        """The inputs of the scores."""
        ...

    def empty(self) -> "Scorer":
        """Return an equal scorer without skills."""
        ...

    def fill(self, skills: Sequence[SkillMetadata]) -> Sequence[int]:
        """Index these skills as the initial library, and return their numbers."""
        ...

    def read(self, skills: Sequence[SkillMetadata]) -> Sequence[Any]:
        """Return the arguments of `add` for each skill: the slow part, called without a lock."""
        ...

    def add(self, key: int, read: Any) -> None: ...

    def remove(self, key: int) -> None: ...

    def scores(self, request: Request) -> Mapping[int, float]:
        """Return a raw score, larger is better, for every skill that has one."""
        ...

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        """Return the reasons for a skill's score, for users."""
        ...


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The complete result for one request."""

    matches: tuple[Match, ...]
    cut: tuple[Match, ...]
    """Matches beyond the limit."""
    near: tuple[Match, ...]
    """The best skills that did not match."""
    mode: Mode
    signals: tuple[str, ...]
    threshold: float
    limit: int

    @property
    def explanation(self) -> str:
        """Return one sentence for users."""
        if not self.matches and not self.cut:
            hidden = [match for match in self.near if match.score >= self.threshold]
            if hidden:
                return f"No skill is offered for this; {_shown(hidden[0])} is started by its name only."
            best = f"; the nearest is {_shown(self.near[0])}" if self.near else ""
            return f"No skill reaches {self.threshold:.2f}{best}."
        count = len(self.matches) + len(self.cut)
        text = f"{count} skill{'s' if count > 1 else ''} matched"
        if not self.cut:
            return f"{text}."
        left_out = ", ".join(_shown(match) for match in self.cut[:NEAR_MISSES])
        more = f" and {len(self.cut) - NEAR_MISSES} more" if len(self.cut) > NEAR_MISSES else ""
        return (
            f"{text}; the limit of {self.limit} left out {left_out}{more}. "
            "Raise it with limit= or SKILL_MAX_PER_REQUEST."
        )


class SkillMatcher:
    """Matches requests with a library of skills that may change at any time."""

    def __init__(
        self,
        skills: Iterable[SkillMetadata] = (),
        *,
        mode: Mode | str | None = None,
        body: BodyReader = read_body,
        threshold: float | None = None,
        settings: MatchingSettings | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """`body` returns a skill's instructions; `embedder` replaces the one of the extra `semantic`."""
        self.settings = MatchingSettings.from_environment() if settings is None else settings
        wanted = Mode.parse(mode, "mode") if isinstance(mode, str) else mode
        self.mode = wanted or self.settings.mode or Mode.LEXICAL
        chosen = self.settings.threshold if threshold is None else threshold
        self.threshold = THRESHOLD if chosen is None else chosen
        scorer = _scorer(self.mode, self.settings, body, embedder)
        self.signals = scorer.signals if scorer else (self.mode.value,)
        """The inputs of the scores."""
        self._library = _Library(scorer)
        self._lock = RLock()
        self.update(skills)

    @property
    def skills(self) -> tuple[SkillMetadata, ...]:
        with self._lock:
            return tuple(member.skill for member in self._library.members.values())

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Invalid trigger patterns, with the reason."""
        with self._lock:
            return tuple(found for some in self._library.triggers.diagnostics.values() for found in some)

    def match(self, request: str, limit: int | None = None) -> list[Match]:
        """Return the matching skills, best first, at most `limit` (default 3); empty if none matches."""
        with self._lock:
            fitting, _ = self._judged(request)
            return [self._library.match(found) for found in fitting[: self._most(limit)]]

    def rank(self, request: str, limit: int = 10) -> list[Match]:
        """Return the nearest skills, best first, whether or not they match."""
        with self._lock:
            return [self._library.match(found) for found in self._library.ask(request)[: max(limit, 0)]]

    def explain(self, request: str, limit: int | None = None) -> MatchResult:
        """Return the matches, those beyond the limit, and the nearest other skills."""
        most = self._most(limit)
        with self._lock:
            fitting, missed = self._judged(request)
            matches = tuple(map(self._library.match, fitting))
            misses = tuple(map(self._library.match, missed[:NEAR_MISSES]))
        return MatchResult(
            matches[:most], matches[most:], misses, self.mode, self.signals, self.threshold, most
        )

    def prepare(self) -> None:
        """Load now, so that the first request does not wait for it."""
        self.match("prepare")

    def add(self, skill: SkillMetadata) -> None:
        """Add a skill, or replace the earlier version of the same file."""
        self._change((), [skill])

    def remove(self, skill: SkillMetadata) -> None:
        """Remove a skill; unknown ones are ignored."""
        self._change([_identity(skill)], ())

    def update(self, skills: Iterable[SkillMetadata]) -> None:
        """Set the library to exactly these skills; only changes are indexed."""
        with self._lock:
            library = self._library
            known = {identity: library.members[key] for identity, key in library.keys.items()}
        wanted = {_identity(skill): skill for skill in skills}
        changed = [
            skill
            for identity, skill in wanted.items()
            if identity not in known or not self._is_current(known[identity], skill)
        ]
        self._change(known.keys() - wanted.keys(), changed)

    def _change(self, gone: Collection["_Identity"], skills: Sequence[SkillMetadata]) -> None:
        """Read `skills` without a lock, so that requests are served meanwhile; then add them."""
        before = self._library
        new = [_Member(skill, *self._stamp(skill)) for skill in skills]
        if not before.members:
            fresh = _Library(before.scorer.empty() if before.scorer else None)
            fresh.fill(new)
            with self._lock:
                if self._library is before and not before.members:
                    self._library = fresh
                    return
        read: Sequence[Any] = before.scorer.read(skills) if before.scorer else [None] * len(new)
        with self._lock:
            self._library.change(gone, new, read)

    def _is_current(self, member: "_Member", skill: SkillMetadata) -> bool:
        return member.settled and member.skill == skill and member.stamp == self._stamp(skill)[0]

    def _stamp(self, skill: SkillMetadata) -> tuple[Stamp | None, bool]:
        """Return the file's stamp, if instructions are scored, and whether any change of the file changes
        it."""
        if "body" not in self.signals:
            return None, True
        try:
            stamp = stamp_of(os.stat(skill.skill_path))
        except OSError:
            return None, True
        return stamp, stamp.is_settled()

    def _most(self, limit: int | None) -> int:
        return self.settings.limit if limit is None else max(limit, 0)

    def _judged(self, request: str) -> tuple[list["_Candidate"], list["_Candidate"]]:
        """Return the matching skills, and the others. Every skill requested by name or with a matching
        trigger matches, and by score only the best one, unless the request names a skill."""
        found = self._library.ask(request)
        named = any(one.ordered for one in found)
        fitting, missed = [], []
        by_score = 0 if named else 1
        for one in found:
            fits = one.ordered or (one.offered and one.declared)
            if not fits and one.offered and by_score and one.score >= self.threshold:
                fits, by_score = True, 0
            if fits:
                fitting.append(one)
            else:
                missed.append(one)
        return fitting, missed


_Identity = tuple[str, str]


class _Member(NamedTuple):
    """A skill and the stamp of its file when it was indexed."""

    skill: SkillMetadata
    stamp: Stamp | None
    settled: bool
    """Whether every change of the file changes the stamp."""


class _Candidate(NamedTuple):
    key: int
    score: float
    request: Request
    ordered: bool
    """Whether the request asks for it by name."""
    declared: bool
    """Whether the request contains one of its triggers."""
    offered: bool
    """Whether it may match without being named."""


class _Library:
    """The skills of a matcher and their indexes."""

    def __init__(self, scorer: Scorer | None) -> None:
        self.scorer = scorer
        self.triggers = TriggerFinder()
        self.members: dict[int, _Member] = {}
        self.keys: dict[_Identity, int] = {}
        self._names = NameFinder()
        self._next = 0
        self._asked: tuple[str, list[_Candidate]] | None = None

    def fill(self, new: Sequence[_Member]) -> None:
        """Index these skills as the initial library."""
        unique = list({_identity(member.skill): member for member in new}.values())
        skills = [member.skill for member in unique]
        keys = self.scorer.fill(skills) if self.scorer else range(len(skills))
        for key, member in zip(keys, unique, strict=True):
            self._hold(key, member)

    def change(self, gone: Iterable[_Identity], new: Sequence[_Member], read: Sequence[Any]) -> None:
        self._asked = None
        for identity in gone:
            self._remove(identity)
        for member, entry in zip(new, read, strict=True):
            self._remove(_identity(member.skill))
            key = self._next
            self._hold(key, member)
            if self.scorer:
                self.scorer.add(key, entry)

    def _hold(self, key: int, member: _Member) -> None:
        self._next = max(self._next, key + 1)
        self.keys[_identity(member.skill)] = key
        self.members[key] = member
        self._names.add(key, member.skill)
        self.triggers.add(key, member.skill)

    def _remove(self, identity: _Identity) -> None:
        key = self.keys.pop(identity, None)
        if key is None:
            return
        del self.members[key]
        self._names.remove(key)
        self.triggers.remove(key)
        if self.scorer:
            self.scorer.remove(key)

    def ask(self, text: str) -> list[_Candidate]:
        """Return all candidates, best first; the last result is cached."""
        if self._asked is None or self._asked[0] != text:
            self._asked = (text, self._candidates(Request.parse(text)))
        return self._asked[1]

    def _candidates(self, request: Request) -> list[_Candidate]:
        ordered = self._names.named(request)
        declared = self.triggers.scores(request)
        scores = dict(declared)
        if self.scorer:
            calibration = CALIBRATIONS[self.scorer.signals]
            line = calibration.line(request.length, len(self.members))
            for key, raw in self.scorer.scores(request).items():
                scores[key] = max(scores.get(key, 0.0), calibration.confidence(raw, line))
        for key, marked in ordered.items():
            scores[key] = max(scores.get(key, 0.0), MARKED if marked else ORDERED)
        found = []
        for key, score in scores.items():
            offered = not self.members[key].skill.disable_model_invocation
            found.append(_Candidate(key, score, request, key in ordered, key in declared, offered))
        found.sort(key=lambda one: (not one.ordered, -one.score, self.members[one.key].skill.canonical_name))
        return found

    def match(self, found: _Candidate) -> Match:
        reasons = ["is named in the request"] if found.ordered else []
        reasons.extend(self.triggers.reasons(found.request, found.key))
        if self.scorer:
            reasons.extend(self.scorer.reasons(found.request, found.key))
        certain = found.ordered or found.declared
        skill = self.members[found.key].skill
        return Match(skill, round(found.score, 6), tuple(reasons), certain, found.ordered)


def _scorer(
    mode: Mode, settings: MatchingSettings, read_body: BodyReader, embedder: Embedder | None
) -> Scorer | None:
    """Return the scorer of a mode; `keyword` needs none besides the declared triggers."""
    if mode is Mode.KEYWORD:
        return None
    if mode is Mode.SEMANTIC:
        return EmbeddingScorer(embedder, folder=settings.cache_dir)
    lexical = LexicalScorer(read_body, settings.cache_dir)
    return lexical if mode is Mode.LEXICAL else EmbeddingScorer(embedder, lexical, settings.cache_dir)


def _identity(skill: SkillMetadata) -> _Identity:
    return skill.canonical_name, str(skill.skill_path)


def _shown(match: Match) -> str:
    return f"{match.skill.name} ({match.score:.2f})"
