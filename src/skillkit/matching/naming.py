"""Skills that a request names: an order comes first whatever the scores say, a mention is one signal more."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.matching.request import Request
from skillkit.matching.terms import STOP_WORDS, fold, is_usual, terms

_TOKEN = re.compile(r"\w+(?:[.+#]+\w+)*")
_JOINT = re.compile(r"[\s_-]{1,3}")
_MARKED = re.compile(r"(?<![\w/$\\.:-])[/$]([\w][\w.:-]*[\w]|\w)(?![\w/$])")
_CALL = re.compile(
    r"\b(?:use|using|run|running|invoke|load|activate|enable|call|apply|try|ask|via)"
    r"\s+(?:the\s+|my\s+|your\s+)?[\"'`“]?$"
)
_AFTER = re.compile(r"[\"'`”]?\s+skills?\b")
_BEFORE = re.compile(r"\bskills?\s*:?\s+(?:called\s+|named\s+)?[\"'`“]?$")
_ADDRESSED = re.compile(r"\s*[:,–—]\s")
_AND = re.compile(
    r"[\"'`”]?(?:\s*[,+&]\s*(?:and\s+|then\s+|or\s+)?|\s+(?:and|or|then|plus|and\s+then)\s+)"
    r"(?:the\s+|my\s+)?[\"'`“]?"
)
_RULED_OUT = re.compile(
    r"(?:\b(?:not|never|without|avoid|except|instead\s+of|rather\s+than|other\s+than)|n['’]t)"
    r"(?:\s+(?:use|using|run|running|the|my|to|with|want|need|load|call|skill)){0,3}\s+[\"'`“/$]?$"
)
_QUOTES = frozenset("`\"'“”‘’")
_AROUND = " \t\n.,:;!?"
_NEARBY = 48


class Mention(NamedTuple):
    """A place where a request has a skill's name."""

    keys: tuple[int, ...]
    start: int
    end: int
    marked: bool
    """Written `/name` or `$name`, which can mean nothing else."""
    ordered: bool
    """Marked, quoted, after “use” or beside “skill”: meant as the name of something to be used."""
    distinct: bool
    """Of several words, or a word that is not usual in skills."""


class Naming(NamedTuple):
    """What a request says about skills by name."""

    ordered: dict[int, bool]
    """The skills it calls for, in its order, and whether by `/name` or `$name`."""
    said: frozenset[int]
    """The skills whose name stands in its prose."""
    ruled_out: frozenset[int]
    """The skills it names only to say that they are not wanted: “not X”, “instead of X”."""


@dataclass(slots=True)
class NameFinder:
    """Finds names as whole words. A name that is an ordinary English word, such as `image`, calls for
    its skill where it is plainly a name: `/image`, `$image`, “image”, use image, the image skill,
    image: …, and in a list after another name. Elsewhere it is only said."""

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

    def named(self, request: Request) -> Naming:
        """The skills that the request calls for by name, mentions, and rules out."""
        mentions = [*self._marked(request.folded), *self._plain(request.folded)]
        mentions.sort(key=lambda mention: (mention.start, -mention.end))
        ordered: dict[int, bool] = {}
        said: set[int] = set()
        unwanted: set[int] = set()
        reached = order_end = -1
        for mention in mentions:
            if mention.end <= reached:
                continue  # part of a longer name
            listed = order_end > 0 and _AND.fullmatch(request.folded, order_end, mention.start)
            order = mention.ordered or listed
            if order or mention.distinct:
                reached = mention.end
                if _RULED_OUT.search(request.folded[max(0, mention.start - _NEARBY) : mention.start]):
                    unwanted.update(mention.keys)
                    continue
            if not order:
                if request.folded[mention.start : mention.end] not in STOP_WORDS:
                    said.update(mention.keys)
                continue
            order_end = mention.end
            for key in mention.keys:
                ordered[key] = ordered.get(key, False) or mention.marked
        unwanted.difference_update(ordered)
        return Naming(ordered, frozenset(said.difference(ordered, unwanted)), frozenset(unwanted))

    def _marked(self, text: str) -> Iterator[Mention]:
        for match in _MARKED.finditer(text):
            keys = self._exact.get(canonical_name(match.group(1)))
            if keys:
                yield Mention(keys, match.start(), match.end(), marked=True, ordered=True, distinct=True)

    def _plain(self, text: str) -> Iterator[Mention]:
        tokens = [
            (match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text.replace("_", "-"))
        ]
        for at, (first, start, _) in enumerate(tokens):
            for name, keys in self._by_first.get(first, {}).items():
                end = _matched_to(text, tokens, at, name)
                if end and keys:
                    ordered = _is_ordered(text, start, end)
                    yield Mention(
                        keys, start, end, marked=False, ordered=ordered, distinct=_is_distinct(name)
                    )


def _without(keys: tuple[int, ...], key: int) -> tuple[int, ...]:
    return tuple(other for other in keys if other != key)


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


def _is_ordered(text: str, start: int, end: int) -> bool:
    """Whether these words are meant as the name of a skill to be used."""
    function_word = text[start:end] in STOP_WORDS  # “yes”, “why?” and “ok, do that” call for nobody
    if text.strip(_AROUND) == text[start:end]:
        return not function_word
    before, after = text[max(0, start - _NEARBY) : start], text[end : end + _NEARBY]
    if before[-1:] in _QUOTES and after[:1] in _QUOTES and before and after:
        return True
    if _CALL.search(before) or _AFTER.match(after) or _BEFORE.search(before):
        return True
    return not text[:start].strip() and not function_word and _ADDRESSED.match(after) is not None


def _is_distinct(name: tuple[str, ...]) -> bool:
    """Whether these words are hardly ever said without the skill being meant."""
    return len(name) > 1 or not (name[0] in STOP_WORDS or any(map(is_usual, terms(name[0]))))
