"""Skills that a request asks for by name: they rank first, whatever their scores."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.matching.request import Request
from skillkit.matching.terms import STOP_WORDS, fold

_TOKEN = re.compile(r"\w+(?:[.+#]+\w+)*")
_JOINT = re.compile(r"[\s_-]{1,3}")
_MARKED = re.compile(r"(?<![\w/$\\.:-])[/$]([\w][\w.:-]*[\w]|\w)(?![\w/$])")
_BEFORE = re.compile(r"\b(?:use|skill)\s+(?:the\s+)?$")
_AFTER = re.compile(r"\s+skill\b")
_QUOTES = frozenset("`\"'“”‘’")
_AROUND = " \t\n.,:;!?"
_NEARBY = 48


class _Mention(NamedTuple):
    """A position at which a request asks for the skills of one name."""

    keys: tuple[int, ...]
    start: int
    end: int
    marked: bool
    """Whether it is written `/name` or `$name`, which is unambiguous."""


@dataclass(slots=True)
class NameFinder:
    """Finds names as whole words where explicit syntax marks a skill: `/image`, `$image`, “image”, use image,
    the image skill, or the name alone. Elsewhere `image` is an ordinary word."""

    _by_first: dict[str, dict[tuple[str, ...], tuple[int, ...]]] = field(default_factory=dict)
    _exact: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _names: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)

    def add(self, key: int, skill: SkillMetadata) -> None:
        if not skill.user_invocable:
            return
        exact = tuple({fold(skill.canonical_name), fold(canonical_name(skill.qualified_name))})
        for name in exact:
            self._exact[name] = (*self._exact.get(name, ()), key)
        tokens = _tokens(skill.canonical_name)
        self._names[key] = (exact, tokens)
        if tokens:
            names = self._by_first.setdefault(tokens[0], {})
            names[tokens] = (*names.get(tokens, ()), key)

    def remove(self, key: int) -> None:
        exact, tokens = self._names.pop(key, ((), ()))
        for name in exact:
            self._exact[name] = _without(self._exact[name], key)
        if tokens:
            names = self._by_first[tokens[0]]
            names[tokens] = _without(names[tokens], key)

    def named(self, request: Request) -> dict[int, bool]:
        """Return the skills that the request asks for, in its order, and whether by `/name` or `$name`."""
        mentions = [*self._marked(request.folded), *self._plain(request.folded)]
        mentions.sort(key=lambda mention: (mention.start, -mention.end))
        ordered: dict[int, bool] = {}
        reached = -1
        for mention in mentions:
            if mention.end > reached:  # otherwise it is part of a longer name
                reached = mention.end
                for key in mention.keys:
                    ordered[key] = ordered.get(key, False) or mention.marked
        return ordered

    def _marked(self, text: str) -> Iterator[_Mention]:
        for match in _MARKED.finditer(text):
            keys = self._exact.get(canonical_name(match.group(1)))
            if keys:
                yield _Mention(keys, match.start(), match.end(), marked=True)

    def _plain(self, text: str) -> Iterator[_Mention]:
        tokens = [
            (match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text.replace("_", "-"))
        ]
        for at, (first, start, _) in enumerate(tokens):
            for name, keys in self._by_first.get(first, {}).items():
                end = _matched_to(text, tokens, at, name)
                if end and keys and _is_ordered(text, start, end):
                    yield _Mention(keys, start, end, marked=False)


def _without(keys: tuple[int, ...], key: int) -> tuple[int, ...]:
    return tuple(other for other in keys if other != key)


def _tokens(name: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(fold(name).replace("_", "-")))


def _matched_to(text: str, tokens: list[tuple[str, int, int]], at: int, name: tuple[str, ...]) -> int | None:
    """Return the end of a name that starts at a token, if it matches whole words."""
    if len(tokens) < at + len(name):
        return None
    _, start, end = tokens[at]
    for offset, part in enumerate(name[1:], 1):
        word, word_start, word_end = tokens[at + offset]
        if word != part or not _JOINT.fullmatch(text, end, word_start):
            return None
        end = word_end
    whole = (start == 0 or text[start - 1] not in "-_") and (end == len(text) or text[end] not in "-_")
    return end if whole else None


def _is_ordered(text: str, start: int, end: int) -> bool:
    """Return whether the surrounding text marks these words as the name of a skill."""
    if text.strip(_AROUND) == text[start:end]:
        return text[start:end] not in STOP_WORDS  # “yes” and “why?” are no names of skills
    before, after = text[max(0, start - _NEARBY) : start], text[end : end + _NEARBY]
    if before[-1:] in _QUOTES and after[:1] in _QUOTES and before and after:
        return True
    return _BEFORE.search(before) is not None or _AFTER.match(after) is not None
