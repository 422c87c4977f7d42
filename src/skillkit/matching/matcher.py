"""SkillMatcher: a request in, the skills that fit it out, and nothing when none does."""

import heapq
import os
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from threading import RLock
from typing import NamedTuple

from skillkit.core.cache import Stamp
from skillkit.core.content import stamp_of
from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.matching.embedding import Embedder
from skillkit.matching.keyword import KeywordScorer
from skillkit.matching.lexical import BodyReader, read_body
from skillkit.matching.match import Match
from skillkit.matching.naming import NameFinder
from skillkit.matching.request import Request
from skillkit.matching.scorer import make_scorer
from skillkit.matching.settings import MatchingSettings, Mode
from skillkit.matching.usual import typicality

THRESHOLD = 0.5
"""Confidence from which a skill matches; the calibration puts every mode's line here."""
MARKED, ORDERED, UNWANTED = 1.0, 0.95, 0.0
"""Scores of a skill written `/name`, of one called for by name, and of one named to be left out."""
MOST_CLEAR = 2
"""Skills that match without being called for: a third is the right one too rarely to be worth its text."""
NEAR_MISSES = 3
FEW = 500
"""Scores that are sorted faster than the largest of them are picked out."""


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
            hidden = [match for match in self.near if match.score >= self.threshold]
            if hidden:
                return f"No skill is offered for this; {_shown(hidden[0])} is started by its name only."
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
        self.mode = wanted or self.settings.mode or Mode.LEXICAL
        chosen = self.settings.threshold if threshold is None else threshold
        self.threshold = THRESHOLD if chosen is None else chosen
        self._scorer = make_scorer(self.mode, self.settings, body, embedder)
        self.signals = self._scorer.signals if self._scorer else (self.mode.value,)
        """What the scores are made of."""
        self._begin()
        for skill in skills:
            self.add(skill)

    def _begin(self) -> None:
        """Hold no skill yet."""
        self._triggers = KeywordScorer()
        self._names = NameFinder()
        self._library: dict[int, _Member] = {}
        self._keys: dict[tuple[str, str], int] = {}
        self._unused: list[int] = []
        """Numbers of removed skills: they are given again, so that no index grows with every change."""
        self._asked: _Asked | None = None
        """The request that was asked last; forgotten when a skill comes or goes."""
        self._lock = RLock()

    @property
    def skills(self) -> tuple[SkillMetadata, ...]:
        return tuple(member.skill for member in self._library.values())

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Trigger patterns that cannot be used, and why."""
        return tuple(found for some in self._triggers.diagnostics.values() for found in some)

    def match(self, request: str, limit: int | None = None) -> list[Match]:
        """The skills that clearly fit, best first, at most `limit` (default 3); empty when none does."""
        with self._lock:
            asked = self._ask(request)
            fitting, _ = self._judged(asked, near=0)
            return [self._match(asked.request, found) for found in fitting[: self._most(limit)]]

    def rank(self, request: str, limit: int = 10) -> list[Match]:
        """The nearest skills, best first, whether or not they are near enough to match."""
        with self._lock:
            asked = self._ask(request)
            nearest = self._candidates(asked, at_least=max(limit, 0), from_score=1.0)
            return [self._match(asked.request, found) for found in nearest[: max(limit, 0)]]

    def explain(self, request: str, limit: int | None = None) -> MatchResult:
        """What `match` gives, what the limit cut off, and what came near."""
        most = self._most(limit)
        with self._lock:
            asked = self._ask(request)
            fitting, near = self._judged(asked, near=NEAR_MISSES)
            matches = tuple(self._match(asked.request, found) for found in fitting)
            misses = tuple(self._match(asked.request, found) for found in near)
        return MatchResult(
            matches[:most], matches[most:], misses, self.mode, self.signals, self.threshold, most
        )

    def prepare(self) -> None:
        """Read, embed and index now, so that the first request need not wait for it."""
        with self._lock:
            if self._scorer:
                self._scorer.prepare()

    def add(self, skill: SkillMetadata) -> None:
        """Take a skill in, in the place of what was known of the same file."""
        with self._lock:
            self.remove(skill)
            key = self._unused.pop() if self._unused else len(self._library)
            stamp = self._stamp(skill)
            self._hold(key, _Member(skill, stamp, stamp is None or stamp.is_settled()))
            if self._scorer:
                self._scorer.add(key, skill)

    def only(self, skill: SkillMetadata) -> "SkillMatcher":
        """A matcher that holds nothing but this one of its skills, which is not read again."""
        with self._lock:
            key = self._keys[_identity(skill)]
            alone = copy(self)
            alone._begin()
            alone._hold(0, self._library[key])
            alone._scorer = self._scorer.only(key) if self._scorer else None
            return alone

    def _hold(self, key: int, member: "_Member") -> None:
        self._keys[_identity(member.skill)] = key
        self._asked = None
        self._library[key] = member
        self._names.add(key, member.skill)
        self._triggers.add(key, member.skill)

    def remove(self, skill: SkillMetadata) -> None:
        """Forget a skill; one that is not known is no error."""
        with self._lock:
            key = self._keys.pop(_identity(skill), None)
            if key is None:
                return
            del self._library[key]
            self._asked = None
            self._unused.append(key)
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
            for identity, skill in wanted.items():
                key = self._keys.get(identity)
                if key is None or not self._is_current(self._library[key], skill):
                    self.add(skill)

    def _is_current(self, member: "_Member", skill: SkillMetadata) -> bool:
        return member.settled and member.skill == skill and member.stamp == self._stamp(skill)

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

    def _ask(self, text: str) -> "_Asked":
        """Score every skill for a request, once for all questions about it."""
        if self._asked is None or self._asked.text != text:
            request = Request.parse(text)
            self._asked = _Asked(
                text,
                request,
                *self._names.named(request),
                {} if self._scorer is None else self._scorer.scores(request),
                {} if self._scorer is None else self._triggers.declared(request),
            )
        return self._asked

    def _judged(self, asked: "_Asked", near: int) -> tuple[list["_Candidate"], list["_Candidate"]]:
        """The skills that match, and the `near` best of the others."""
        found = self._candidates(asked, at_least=near + MOST_CLEAR, from_score=self.threshold)
        fitting = [one for one in found if one.ordered]
        others = [
            one for one in found if not one.ordered and one.score >= self.threshold and self._offered(one)
        ]
        if fitting:
            others = [one for one in others if one.declared]  # an order says what is wanted
        if others:
            margin = self._scorer.calibration.margin if self._scorer else 0.0
            best = max(one.raw for one in others)
            clear = [one for one in others if one.declared or one.raw >= best - margin]
            fitting += [one for one in clear if one.declared]
            fitting += self._distinct(one for one in clear if not one.declared)[:MOST_CLEAR]
            fitting.sort(key=found.index)
        missed = [one for one in found if one not in fitting and not one.ruled_out]
        return fitting, missed[:near]

    def _candidates(self, asked: "_Asked", *, at_least: int, from_score: float) -> list["_Candidate"]:
        """The skills called for, the `at_least` best others, and all that have `from_score`; best first."""
        _, request, ordered, said, ruled_out, raw, declared = asked
        if self._scorer is None:
            return self._triggered(request, ordered, ruled_out)
        if len(request.words) == 1:  # it says nothing else
            ordered, said = {**dict.fromkeys(said, False), **ordered}, frozenset()
        calibration = self._scorer.calibration
        line = calibration.line(request.length, len(self._library), typicality(request.words))
        floor = calibration.raw(from_score, line)
        keys = {*ordered, *declared, *[key for key, value in raw.items() if value >= floor]}
        if at_least:
            keys.update(_largest(raw, at_least + len(keys)))
        found = []
        for key in keys:
            value, trigger = raw.get(key), declared.get(key)
            score = 0.0 if value is None else calibration.confidence(value, line)
            if trigger is not None and trigger > score:
                score = trigger
            call, out = ordered.get(key), key in ruled_out
            score = _final_score(score, call, out)
            found.append(_Candidate(key, score, value or 0.0, call, key in said, out, trigger is not None))
        return self._sorted(found)

    def _triggered(
        self, request: Request, ordered: Mapping[int, bool], ruled_out: Collection[int]
    ) -> list["_Candidate"]:
        """The same by declared triggers alone, whose scores are confidences already."""
        found = []
        for key in {*ordered, *(scores := self._triggers.scores(request))}:
            call, out = ordered.get(key), key in ruled_out
            score = _final_score(scores.get(key, 0.0), call, out)
            found.append(_Candidate(key, score, 0.0, call, False, out, key in scores))
        return self._sorted(found)

    def _sorted(self, found: list["_Candidate"]) -> list["_Candidate"]:
        library = self._library
        found.sort(key=lambda one: (one.call is None, -one.score, library[one.key].skill.canonical_name))
        return found

    def _offered(self, found: "_Candidate") -> bool:
        """Whether a skill may come without being called by name."""
        skill = self._library[found.key].skill
        return not (found.ruled_out or skill.disable_model_invocation)

    def _distinct(self, found: Iterable["_Candidate"]) -> list["_Candidate"]:
        """Without copies under other names, which would only say the same once more."""
        by_text: dict[str, _Candidate] = {}
        for one in found:
            by_text.setdefault(self._library[one.key].skill.description, one)
        return list(by_text.values())

    def _match(self, request: Request, found: "_Candidate") -> Match:
        reasons = ["is named in the request"] if found.ordered else []
        if found.said:
            reasons.append("its name stands in the request")
        reasons.extend(self._triggers.reasons(request, found.key))
        if self._scorer:
            reasons.extend(self._scorer.reasons(request, found.key))
        return Match(self._library[found.key].skill, round(found.score, 6), tuple(reasons))


class _Asked(NamedTuple):
    """A request and what every skill says to it."""

    text: str
    request: Request
    ordered: Mapping[int, bool]
    said: Collection[int]
    ruled_out: Collection[int]
    raw: Mapping[int, float]
    declared: Mapping[int, float]


class _Member(NamedTuple):
    """A skill and the state its file had when it was indexed."""

    skill: SkillMetadata
    stamp: Stamp | None
    settled: bool
    """Whether the file could be changed no more without changing the stamp."""


class _Candidate(NamedTuple):
    key: int
    score: float
    raw: float
    call: bool | None
    """Whether it is called for by `/name` (True) or otherwise (False); None when it is not."""
    said: bool
    ruled_out: bool
    declared: bool

    @property
    def ordered(self) -> bool:
        return self.call is not None


def _largest(raw: Mapping[int, float], count: int) -> list[int]:
    """The keys of the `count` largest values, in order."""
    if len(raw) > FEW:
        return heapq.nlargest(count, raw, key=raw.__getitem__)
    return sorted(raw, key=raw.__getitem__, reverse=True)[:count]


def _final_score(score: float, call: bool | None, ruled_out: bool) -> float:
    """The score, considering what the request says of the skill by name."""
    if call is not None:
        return max(score, MARKED if call else ORDERED)
    return UNWANTED if ruled_out else score


def _identity(skill: SkillMetadata) -> tuple[str, str]:
    return skill.canonical_name, str(skill.skill_path)


def _shown(match: Match) -> str:
    return f"{match.skill.name} ({match.score:.2f})"
