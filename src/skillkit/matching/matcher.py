"""SkillMatcher: a request in, the skills that fit it out, and nothing when none does."""

import asyncio
import heapq
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import NamedTuple

from skillkit.core.cache import Stamp
from skillkit.core.content import stamp_of
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.matching import embedding
from skillkit.matching.body import BodyReader, BodyScorer, read_body
from skillkit.matching.calibration import CALIBRATIONS
from skillkit.matching.embedding import HYBRID_TOKENS, QUERY_TOKENS, Embedder
from skillkit.matching.hybrid import HybridScorer
from skillkit.matching.keyword import KeywordScorer
from skillkit.matching.lexical import LexicalScorer
from skillkit.matching.naming import NameFinder
from skillkit.matching.request import Request
from skillkit.matching.scorer import Scorer
from skillkit.matching.semantic import SemanticScorer
from skillkit.matching.settings import MatchingSettings, Mode
from skillkit.matching.taking_turns import taking_turns
from skillkit.matching.vectors import VectorCache
from skillkit.matching.weights import Calibration

THRESHOLD = 0.5
"""Confidence from which a skill matches; the calibration puts every mode's line here."""
NAMED, MENTIONED, UNWANTED = 1.0, 0.95, 0.0
"""Scores of a skill written `/name`, of one named in prose, and of one named to be left out. One whose
name is an ordinary word of the request just reaches the threshold, so that what fits better precedes it."""
NEAR_MISSES = 3


@dataclass(frozen=True, slots=True)
class Match:
    """A skill, how surely it fits (0 to 1, comparable between libraries), and why."""

    skill: SkillMetadata
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Everything there is to say about one request."""

    matches: tuple[Match, ...]
    cut: tuple[Match, ...]
    """Matched too, but beyond the limit."""
    near: tuple[Match, ...]
    """The best of those that did not match."""
    mode: Mode
    signals: tuple[str, ...]
    threshold: float
    limit: int

    @property
    def explanation(self) -> str:
        """One sentence for a person."""
        if not self.matches and not self.cut:
            best = f"; the nearest is {_shown(self.near[0])}" if self.near else ""
            return f"No skill reaches {self.threshold:.2f}{best}."
        count = len(self.matches) + len(self.cut)
        text = f"{count} skill{'s' if count > 1 else ''} reached {self.threshold:.2f}"
        if not self.cut:
            return f"{text}."
        left_out = ", ".join(_shown(match) for match in self.cut[:NEAR_MISSES])
        more = f" and {len(self.cut) - NEAR_MISSES} more" if len(self.cut) > NEAR_MISSES else ""
        return (
            f"{text}; the limit of {self.limit} left out {left_out}{more}. "
            "Raise it with limit= or SKILL_MAX_PER_REQUEST."
        )


class SkillMatcher:
    """Compares requests with a library of skills that may change at any time."""

    def __init__(
        self,
        skills: Iterable[SkillMetadata] = (),
        *,
        mode: Mode | str | None = None,
        body: BodyReader | None = read_body,
        threshold: float | None = None,
        settings: MatchingSettings | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """`body` gives a skill's instructions (None leaves them out); `embedder` takes the place of
        the one that the extra `semantic` brings."""
        self.settings = MatchingSettings.from_environment() if settings is None else settings
        wanted = Mode.parse(mode, "mode") if isinstance(mode, str) else mode
        self.mode = wanted or self.settings.mode or Mode.HYBRID
        self.threshold = THRESHOLD if threshold is None else threshold
        self._triggers = KeywordScorer()
        self._names = NameFinder()
        self._scorer = self._chosen(body, embedder)
        self.signals = self._scorer.signals if isinstance(self._scorer, HybridScorer) else (self.mode.value,)
        """What the scores are made of; in hybrid mode `semantic` is among them when it is installed."""
        self._library: dict[int, _Member] = {}
        self._keys: dict[tuple[str, str], int] = {}
        self._next = 0
        self._lock = RLock()
        for skill in skills:
            self.add(skill)

    @property
    def skills(self) -> tuple[SkillMetadata, ...]:
        return tuple(member.skill for member in self._library.values())

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Trigger patterns that cannot be used, and why."""
        return tuple(found for some in self._triggers.diagnostics.values() for found in some)

    def match(self, request: str, limit: int | None = None) -> list[Match]:
        """The skills that fit, best first, at most `limit` (default 3); empty when none does."""
        with self._lock:
            parsed = Request.parse(request)
            fitting, _ = self._judged(parsed, near=0)
            return [self._match(parsed, found) for found in fitting[: self._most(limit)]]

    def rank(self, request: str, limit: int = 10) -> list[Match]:
        """The nearest skills, best first, whether or not they are near enough to match."""
        with self._lock:
            parsed = Request.parse(request)
            nearest = self._candidates(parsed, at_least=max(limit, 0), from_score=1.0)
            return [self._match(parsed, found) for found in nearest[: max(limit, 0)]]

    def explain(self, request: str, limit: int | None = None) -> MatchResult:
        """What `match` gives, what the limit cut off, and what came near."""
        most = self._most(limit)
        with self._lock:
            parsed = Request.parse(request)
            fitting, near = self._judged(parsed, near=NEAR_MISSES)
            matches = tuple(self._match(parsed, found) for found in fitting)
            misses = tuple(self._match(parsed, found) for found in near)
        return MatchResult(
            matches[:most], matches[most:], misses, self.mode, self.signals, self.threshold, most
        )

    async def amatch(self, request: str, limit: int | None = None) -> list[Match]:
        """`match` without blocking the event loop."""
        return await asyncio.to_thread(self.match, request, limit)

    async def arank(self, request: str, limit: int = 10) -> list[Match]:
        """`rank` without blocking the event loop."""
        return await asyncio.to_thread(self.rank, request, limit)

    async def aexplain(self, request: str, limit: int | None = None) -> MatchResult:
        """`explain` without blocking the event loop."""
        return await asyncio.to_thread(self.explain, request, limit)

    def prepare(self) -> None:
        """Read, embed and index now, so that the first request need not wait for it."""
        with self._lock:
            if self._scorer:
                self._scorer.prepare()

    async def aprepare(self) -> None:
        """`prepare` without blocking the event loop."""
        await asyncio.to_thread(self.prepare)

    def add(self, skill: SkillMetadata) -> None:
        """Take a skill in, in the place of what was known of the same file."""
        with self._lock:
            self.remove(skill)
            key, self._next = self._next, self._next + 1
            self._keys[_identity(skill)] = key
            self._library[key] = _Member(skill, self._stamp(skill))
            self._names.add(key, skill)
            self._triggers.add(key, skill)
            if self._scorer:
                self._scorer.add(key, skill)

    def remove(self, skill: SkillMetadata) -> None:
        """Forget a skill; one that is not known is no error."""
        with self._lock:
            key = self._keys.pop(_identity(skill), None)
            if key is None:
                return
            del self._library[key]
            self._names.remove(key)
            self._triggers.remove(key)
            if self._scorer:
                self._scorer.remove(key)

    def update(self, skills: Iterable[SkillMetadata]) -> None:
        """Make the library exactly these skills; only what has changed is indexed again."""
        with self._lock:
            wanted = {_identity(skill): skill for skill in skills}
            for identity in self._keys.keys() - wanted.keys():
                self.remove(self._library[self._keys[identity]].skill)
            for identity, skill in taking_turns(wanted.items()):
                key = self._keys.get(identity)
                if key is None or self._library[key] != _Member(skill, self._stamp(skill)):
                    self.add(skill)

    def _chosen(self, body: BodyReader | None, embedder: Embedder | None) -> Scorer | None:
        """The scorer of the mode; hybrid takes every signal that is at hand, keyword needs none."""
        if self.mode is Mode.KEYWORD:
            return None
        if self.mode is Mode.LEXICAL:
            return LexicalScorer()
        if self.mode is Mode.SEMANTIC:
            return self._semantic(embedder)
        return HybridScorer(
            LexicalScorer(),
            self._semantic(embedder, HYBRID_TOKENS) if embedder or embedding.available() else None,
            BodyScorer(body) if body else None,
        )

    def _semantic(self, embedder: Embedder | None, tokens: int = QUERY_TOKENS) -> SemanticScorer:
        vectors = VectorCache(self.settings.cache_dir)
        return SemanticScorer(embedder or embedding.default_embedder(), vectors, tokens)

    def _stamp(self, skill: SkillMetadata) -> Stamp | None:
        """The state of the file, where its instructions count."""
        if "body" not in self.signals:
            return None
        try:
            return stamp_of(os.stat(skill.skill_path))
        except OSError:
            return None

    def _most(self, limit: int | None) -> int:
        return self.settings.limit if limit is None else max(limit, 0)

    def _judged(self, request: Request, near: int) -> tuple[list["_Found"], list["_Found"]]:
        """The skills that match, and the `near` best that do not."""
        found = self._candidates(request, at_least=near, from_score=self.threshold)
        fitting = [one for one in found if one.named or (one.score >= self.threshold and self._offered(one))]
        missed = [one for one in found if not one.named and one.score < self.threshold]
        return fitting, missed[:near]

    def _candidates(self, request: Request, *, at_least: int, from_score: float) -> list["_Found"]:
        """The named skills, the `at_least` best others, and all that have `from_score`; best first."""
        raw, calibration = self._scored(request)
        declared = self._triggers.declared(request) if self._scorer else {}
        named, said, ruled_out = self._names.named(request)
        if self._scorer is None:
            said = frozenset()  # without triggers, a skill that is not called by name does not match
        elif len(request.words) == 1:
            named, said = {**dict.fromkeys(said, False), **named}, frozenset()  # it says nothing else
        floor = calibration.raw(from_score) if calibration else from_score
        keys = {*named, *said, *declared, *(key for key, value in raw.items() if value >= floor)}
        if at_least:
            keys.update(heapq.nlargest(at_least + len(keys), raw, key=raw.__getitem__))
        found: list[_Found] = []
        for key in keys:
            score = raw.get(key, 0.0)
            if calibration:
                score = calibration.confidence(score) if key in raw else 0.0
            score = max(score, declared.get(key, 0.0))
            if key in ruled_out:
                score = min(score, UNWANTED)
            if key in named:
                score = max(score, NAMED if named[key] else MENTIONED)
            elif key in said:
                score = max(score, self.threshold)
            found.append(_Found(key, score, key in named, key in said, key in ruled_out))
        found.sort(key=lambda one: (not one.named, -one.score, self._library[one.key].skill.canonical_name))
        return found

    def _scored(self, request: Request) -> tuple[Mapping[int, float], Calibration | None]:
        """Raw scores and what makes confidences of them; triggers are confidences already."""
        if self._scorer is None:
            return self._triggers.scores(request), None
        return self._scorer.scores(request), CALIBRATIONS[self.signals]

    def _offered(self, found: "_Found") -> bool:
        """Whether a skill may come without being called by name."""
        skill = self._library[found.key].skill
        return not (found.ruled_out or skill.disable_model_invocation or skill.recovered)

    def _match(self, request: Request, found: "_Found") -> Match:
        reasons = ["is named in the request"] if found.named else []
        if found.said:
            reasons.append("its name is a word of the request")
        reasons.extend(self._triggers.reasons(request, found.key))
        if self._scorer:
            reasons.extend(self._scorer.reasons(request, found.key))
        return Match(self._library[found.key].skill, round(found.score, 6), tuple(reasons))


class _Member(NamedTuple):
    """A skill and the state its file had when it was indexed."""

    skill: SkillMetadata
    stamp: Stamp | None


class _Found(NamedTuple):
    key: int
    score: float
    named: bool
    said: bool
    ruled_out: bool


def _identity(skill: SkillMetadata) -> tuple[str, str]:
    return skill.canonical_name, str(skill.skill_path)


def _shown(match: Match) -> str:
    return f"{match.skill.name} ({match.score:.2f})"
