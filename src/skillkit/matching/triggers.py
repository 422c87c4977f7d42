"""Declared triggers: keywords and verbs, found by their stems, and patterns, matched by RE2."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol

from skillkit.core.extras import pip_install
from skillkit.core.models import Diagnostic, Severity, SkillMetadata
from skillkit.matching.request import Request
from skillkit.matching.terms import fold, is_unspaced, stem_of_word, words

LONGEST_PATTERN = 1_000
PATTERN_MEMORY = 1 << 20
CONFIDENCE = {"keyword": 0.6, "verb": 0.5, "pattern": 0.7}
"""Score of a single trigger; several add up towards 1."""


class Hit(NamedTuple):
    """A trigger that the request contains."""

    kind: str
    shown: str


class _Trigger(NamedTuple):
    key: int
    hit: Hit
    stems: tuple[str, ...]


class CompiledPattern(Protocol):
    """A compiled pattern for searching."""

    def search(self, text: str) -> object | None: ...


@dataclass(slots=True)
class TriggerFinder:
    """Triggers by their first stem, so that the cost depends on the request and not on the library."""

    diagnostics: dict[int, tuple[Diagnostic, ...]] = field(default_factory=dict)
    _by_first: dict[str, list[_Trigger]] = field(default_factory=lambda: defaultdict(list))
    _literal: list[_Trigger] = field(default_factory=list)
    """Triggers without a word, or in a script without spaces: matched anywhere in the text."""
    _patterns: dict[int, list[tuple[Hit, CompiledPattern]]] = field(default_factory=dict)
    _last: tuple[Request, dict[int, list[Hit]]] | None = None

    def add(self, key: int, skill: SkillMetadata) -> None:
        self._last = None
        triggers = skill.triggers
        for kind, texts in (("keyword", triggers.keywords), ("verb", triggers.verbs)):
            for shown in texts:
                text = " ".join(fold(shown).split())
                stems = tuple(map(stem_of_word, words(text)))
                if stems and not is_unspaced(text):
                    self._by_first[stems[0]].append(_Trigger(key, Hit(kind, shown), stems))
                elif text:
                    self._literal.append(_Trigger(key, Hit(kind, shown), (text,)))
        problems = []
        for text in triggers.patterns:
            compiled = _compiled(text, skill.skill_path)
            if isinstance(compiled, Diagnostic):
                problems.append(compiled)
            else:
                self._patterns.setdefault(key, []).append((Hit("pattern", text), compiled))
        if problems:
            self.diagnostics[key] = tuple(problems)

    def remove(self, key: int) -> None:
        self._last = None
        for triggers in (*self._by_first.values(), self._literal):
            triggers[:] = [trigger for trigger in triggers if trigger.key != key]
        self._patterns.pop(key, None)
        self.diagnostics.pop(key, None)

    def scores(self, request: Request) -> dict[int, float]:
        """Return scores between 0 and 1: the more triggers, the higher."""
        return {key: _confidence(hits) for key, hits in self.hits(request).items()}

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        found: dict[str, list[str]] = defaultdict(list)
        for hit in self.hits(request).get(key, ()):
            found[hit.kind].append(f"“{hit.shown}”")
        return tuple(
            f"has its {kind}{'s' * (len(texts) > 1)} {', '.join(texts)}" for kind, texts in found.items()
        )

    def hits(self, request: Request) -> dict[int, list[Hit]]:
        """Return the triggers that the request contains, by skill; cached for repeated calls."""
        if self._last is None or self._last[0] is not request:
            found: dict[int, dict[Hit, None]] = defaultdict(dict)
            for trigger in self._present(request):
                found[trigger.key][trigger.hit] = None
            for key, patterns in self._patterns.items():
                for hit, compiled in patterns:
                    if compiled.search(request.text):
                        found[key][hit] = None
            self._last = (request, {key: list(hits) for key, hits in found.items()})
        return self._last[1]

    def _present(self, request: Request) -> Iterator[_Trigger]:
        stems = request.stems
        for at, stem in enumerate(stems):
            for trigger in self._by_first.get(stem, ()):
                if stems[at : at + len(trigger.stems)] == trigger.stems:
                    yield trigger
        if self._literal:
            text = " ".join(request.folded.split())
            yield from (trigger for trigger in self._literal if trigger.stems[0] in text)


def _confidence(hits: list[Hit]) -> float:
    doubt = 1.0
    for hit in hits:
        doubt *= 1 - CONFIDENCE[hit.kind]
    return 1 - doubt


def patterns_available() -> bool:
    """Return whether the RE2 engine is installed; Python's own `re` never runs an author's pattern."""
    return find_spec("re2") is not None


def _compiled(text: str, path: Path) -> CompiledPattern | Diagnostic:
    """Compile a pattern without regard to case, or return the reason why it is invalid."""
    if len(text) > LONGEST_PATTERN:
        return _refused(text, path, f"has {len(text)} characters; the limit is {LONGEST_PATTERN}")
    if not patterns_available():
        return Diagnostic(
            path,
            "pattern-unavailable",
            Severity.INFO,
            f"The trigger pattern {_shown(text)} is not used: "
            f"install the engine with {pip_install('patterns')}",
        )
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY
    try:
        compiled: CompiledPattern = re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not valid"
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        return _refused(text, path, f"cannot be used ({reason})")
    return compiled


def _refused(text: str, path: Path, why: str) -> Diagnostic:
    return Diagnostic(path, "bad-pattern", Severity.WARNING, f"The trigger pattern {_shown(text)} {why}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")
