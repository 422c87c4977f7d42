"""Scores by what authors declare: keywords, verbs and patterns, exactly as they are written."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.matching.patterns import Pattern, compile_pattern
from skillkit.matching.request import Request
from skillkit.matching.terms import UNSPACED, fold, terms

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
CONFIDENCE = {"keyword": 0.6, "verb": 0.5, "pattern": 0.7}
"""What one trigger alone is worth; several add up towards 1."""


class Trigger(NamedTuple):
    """A declared word or phrase, folded for comparison."""

    key: int
    kind: str
    text: str
    shown: str


class Hit(NamedTuple):
    """A trigger that the request has."""

    kind: str
    shown: str


@dataclass(slots=True)
class KeywordScorer:
    """Triggers found by their first word, so that the cost follows the request and not the library."""

    diagnostics: dict[int, tuple[Diagnostic, ...]] = field(default_factory=dict)
    _by_first_word: dict[str, list[Trigger]] = field(default_factory=lambda: defaultdict(list))
    _anywhere: list[Trigger] = field(default_factory=list)
    """Triggers that do not begin with a word of a spaced script, such as `.pdf` or `発表`."""
    _patterns: dict[int, tuple[Pattern, ...]] = field(default_factory=dict)
    _last: tuple[Request, dict[int, list[Hit]]] | None = None

    def add(self, key: int, skill: SkillMetadata) -> None:
        self._last = None
        triggers = skill.triggers
        for kind, texts in (("keyword", triggers.keywords), ("verb", triggers.verbs)):
            for shown in texts:
                text = " ".join(fold(shown).split())
                if text:
                    self._home(text).append(Trigger(key, kind, text, shown))
        compiled = [compile_pattern(text, skill.skill_path) for text in triggers.patterns]
        if compiled:
            self._patterns[key] = tuple(found for found in compiled if isinstance(found, Pattern))
            self.diagnostics[key] = tuple(found for found in compiled if isinstance(found, Diagnostic))

    def remove(self, key: int) -> None:
        self._last = None
        for triggers in (*self._by_first_word.values(), self._anywhere):
            triggers[:] = [trigger for trigger in triggers if trigger.key != key]
        self._patterns.pop(key, None)
        self.diagnostics.pop(key, None)

    def prepare(self) -> None:
        """Nothing waits."""

    def scores(self, request: Request) -> dict[int, float]:
        """Between 0 and 1: the more triggers, the nearer to 1."""
        return {key: _confidence(hits) for key, hits in self.hits(request).items()}

    def declared(self, request: Request) -> dict[int, float]:
        """The same without triggers that are only ordinary words: what overrides a statistical score."""
        return {
            key: _confidence(hits)
            for key, hits in self.hits(request).items()
            if any(hit.kind == "pattern" or (hit.kind == "keyword" and terms(hit.shown)) for hit in hits)
        }

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        return tuple(f"has its {hit.kind} “{hit.shown}”" for hit in self.hits(request).get(key, ()))

    def hits(self, request: Request) -> dict[int, list[Hit]]:
        """Which triggers the request has, by skill; looked for once, however often it is asked."""
        if self._last is None or self._last[0] is not request:
            self._last = (request, self._found(request))
        return self._last[1]

    def _found(self, request: Request) -> dict[int, list[Hit]]:
        found: dict[int, dict[Hit, None]] = defaultdict(dict)
        text = " ".join(request.folded.split())
        for trigger in self._present(text):
            found[trigger.key][Hit(trigger.kind, trigger.shown)] = None
        for key, patterns in self._patterns.items():
            for pattern in patterns:
                if pattern.compiled.search(request.text):
                    found[key][Hit("pattern", pattern.text)] = None
        return {key: list(hits) for key, hits in found.items()}

    def _home(self, text: str) -> list[Trigger]:
        first = _WORD.match(text)
        if first is None or _UNSPACED.search(first.group()):
            return self._anywhere
        return self._by_first_word[first.group()]

    def _present(self, text: str) -> Iterator[Trigger]:
        for word in _WORD.finditer(text):
            for trigger in self._by_first_word.get(word.group(), ()):
                if text.startswith(trigger.text, word.start()) and _ends_well(
                    text, trigger.text, word.start()
                ):
                    yield trigger
        for trigger in self._anywhere:
            if _stands_alone(text, trigger.text):
                yield trigger


def _confidence(hits: list[Hit]) -> float:
    doubt = 1.0
    for hit in hits:
        doubt *= 1 - CONFIDENCE[hit.kind]
    return 1 - doubt


def _stands_alone(text: str, trigger: str) -> bool:
    start = text.find(trigger)
    while start >= 0:
        if _begins_well(text, trigger, start) and _ends_well(text, trigger, start):
            return True
        start = text.find(trigger, start + 1)
    return False


def _begins_well(text: str, trigger: str, start: int) -> bool:
    return start == 0 or not _joined(text[start - 1], trigger[0])


def _ends_well(text: str, trigger: str, start: int) -> bool:
    end = start + len(trigger)
    return end == len(text) or not _joined(trigger[-1], text[end])


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    if not (_in_word(left) and _in_word(right)):
        return False
    return not (_UNSPACED.match(left) or _UNSPACED.match(right))


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")
