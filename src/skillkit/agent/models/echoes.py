"""Answers that only say again what the user said: a small model repeats what it should give to a tool."""

import re

_NAME = re.compile(r"[\w./-]+\.[A-Za-z]\w{1,4}|[A-Z][A-Z0-9]+(?:[-_.][A-Z0-9]+)*")
"""A file, or something that is written in capitals."""
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = 4
"""So many words are more than a greeting that is returned."""


class EchoFilter:
    """An answer as it is written, held back for as long as all of it stands in the request."""

    def __init__(self, request: str) -> None:
        self._request = request
        self._said = _spaced(request)
        self._held: str | None = "" if request else None

    @property
    def is_echo(self) -> bool:
        """Whether nothing was written but a name that the user gave, or nearly the whole request with one."""
        if self._held is None:
            return False
        text = self._held.strip(" .!?\n")
        if text in {name.strip(".") for name in _NAME.findall(self._request)}:
            return True
        words = _WORD.findall(text)
        named = any(word[0].isupper() for word in words[1:])
        return len(words) >= _SENTENCE and named and len(words) * 4 >= len(_WORD.findall(self._request)) * 3

    def feed(self, text: str) -> str:
        """Return what of the answer may be shown now."""
        if self._held is None:
            return text
        self._held += text
        if _spaced(self._held) in self._said:
            return ""
        shown, self._held = self._held, None
        return shown

    def finish(self) -> str:
        """Return what was held back and is an answer all the same: `blue`, of red or blue."""
        return "" if self._held is None or self.is_echo else self._held


def is_echo(text: str, request: str) -> bool:
    """Return whether a text only says again what was said in a request."""
    echoes = EchoFilter(request)
    echoes.feed(text)
    return echoes.is_echo


def _spaced(text: str) -> str:
    """Return the words of a text alone, so that marks between them do not count."""
    return " ".join(_WORD.findall(text.casefold()))
