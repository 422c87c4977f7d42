"""Skills that a request calls by name: these come first, whatever the scores say."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.matching.commonness import commonness
from skillkit.matching.request import Request
from skillkit.matching.terms import STOP_WORDS, fold, terms

_TOKEN = re.compile(r"\w+(?:[.+#]+\w+)*")
_JOINT = re.compile(r"[\s_-]{1,3}")
_MARKED = re.compile(r"(?<![\w/$\\.:-])[/$]([\w][\w.:-]*[\w]|\w)(?![\w/$])")
_CALL = re.compile(r"\b(?:use|using|run|invoke|load|activate|call|apply|try)\s+(?:the\s+|my\s+)?[\"'`“]?$")
_AFTER = re.compile(r"[\"'`”]?\s+skill\b")
_BEFORE = re.compile(r"\bskill\s+(?:called\s+|named\s+)?[\"'`“]?$")
_RULED_OUT = re.compile(
    r"(?:\b(?:not|never|without|avoid|except|instead\s+of|rather\s+than|other\s+than)|n['’]t)"
    r"(?:\s+(?:use|using|run|running|the|my|to|with|want|need|load|call|skill)){0,3}\s+[\"'`“/$]?$"
)
_QUOTES = frozenset("`\"'“”‘’")
_NEARBY = 48


class Mention(NamedTuple):
    """A place where a request has a skill's name."""

    keys: tuple[int, ...]
    start: int
    end: int
    marked: bool
    """Written `/name` or `$name`, which can mean nothing else."""


class Naming(NamedTuple):
    """What a request says about skills by name."""

    called: dict[int, bool]
    """The skills it calls for, in its order, and whether by `/name` or `$name`."""
    ruled_out: frozenset[int]
    """The skills it names only to say that they are not wanted: “not X”, “instead of X”."""


@dataclass(slots=True)
class NameFinder:
    """Finds names as whole words. A name that is an ordinary English word, such as `image`, counts
    where it is plainly a name: `/image`, `$image`, “image”, use image, the image skill."""

    _by_first: dict[str, dict[tuple[str, ...], list[int]]] = field(default_factory=dict)
    _exact: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _names: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)

    def add(self, key: int, skill: SkillMetadata) -> None:
        if not skill.user_invocable:
            return
        exact = tuple({fold(skill.canonical_name), fold(canonical_name(skill.qualified_name))})
        for name in exact:
            self._exact[name].append(key)
        tokens = _tokens(skill.canonical_name)
        self._names[key] = (exact, tokens)
        if tokens:
            self._by_first.setdefault(tokens[0], {}).setdefault(tokens, []).append(key)

    def remove(self, key: int) -> None:
        exact, tokens = self._names.pop(key, ((), ()))
        for name in exact:
            self._exact[name].remove(key)
        if tokens:
            self._by_first[tokens[0]][tokens].remove(key)

    def named(self, request: Request) -> Naming:
        """The skills that the request calls for by name, and those it rules out by name."""
        mentions = [*self._marked(request.folded), *self._plain(request.folded)]
        mentions.sort(key=lambda mention: (mention.start, -mention.end))
        called: dict[int, bool] = {}
        unwanted: set[int] = set()
        reached = -1
        for mention in mentions:
            if mention.end <= reached:
                continue  # part of a longer name
            reached = mention.end
            if _RULED_OUT.search(request.folded[max(0, mention.start - _NEARBY) : mention.start]):
                unwanted.update(mention.keys)
                continue
            for key in mention.keys:
                called[key] = called.get(key, False) or mention.marked
        return Naming(called, frozenset(unwanted.difference(called)))

    def _marked(self, text: str) -> Iterator[Mention]:
        for match in _MARKED.finditer(text):
            keys = self._exact.get(canonical_name(match.group(1)))
            if keys:
                yield Mention(tuple(keys), match.start(), match.end(), marked=True)

    def _plain(self, text: str) -> Iterator[Mention]:
        tokens = [
            (match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text.replace("_", "-"))
        ]
        for at, (first, start, _) in enumerate(tokens):
            for name, keys in self._by_first.get(first, {}).items():
                end = _matched_to(text, tokens, at, name)
                if end and keys and _is_name(text, name, start, end):
                    yield Mention(tuple(keys), start, end, marked=False)


def _tokens(name: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(fold(name).replace("_", "-")))


def _matched_to(text: str, tokens: list[tuple[str, int, int]], at: int, name: tuple[str, ...]) -> int | None:
    """Where the name that begins at a token ends, if it is there as whole words."""
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


def _is_name(text: str, name: tuple[str, ...], start: int, end: int) -> bool:
    """Whether these words are meant as a name and not just said."""
    if len(name) > 1 or text.strip() == name[0]:
        return True
    before, after = text[max(0, start - _NEARBY) : start], text[end : end + _NEARBY]
    if before[-1:] in _QUOTES and after[:1] in _QUOTES and before and after:
        return True
    if _CALL.search(before) or _AFTER.match(after) or _BEFORE.search(before):
        return True
    return name[0] not in STOP_WORDS and not any(commonness(term) for term in terms(name[0]))
