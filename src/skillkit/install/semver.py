"""Semantic versions in their order, and ranges of them as npm spells them."""

import operator
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

_NUMBER = "0|[1-9][0-9]{0,8}"
_PART = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_MORE = rf"-({_PART}(?:\.{_PART})*)"
_VERSION = re.compile(rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:{_MORE})?")
_PARTIAL = re.compile(
    rf"([<>]=?|=|\^|~)?v?({_NUMBER}|[xX*])(?:\.({_NUMBER}|[xX*])(?:\.({_NUMBER}|[xX*])(?:{_MORE})?)?)?"
)
_COMPARISONS: dict[str, Callable[["Version", "Version"], bool]] = {
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    "=": operator.eq,
}
MAX_RANGE = 256


class Version(NamedTuple):
    """A semantic version, in the order of precedence."""

    major: int
    minor: int
    patch: int
    is_release: bool = True
    prerelease: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read three numbers and perhaps a prerelease. Raises ValueError."""
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ValueError(f"'{text[:60]}' is not a version; write three numbers such as 1.0.0")
        return cls(int(match[1]), int(match[2]), int(match[3]), match[4] is None, _prerelease(match[4]))


Comparator = tuple[str, Version]


def _prerelease(text: str | None) -> tuple[tuple[int, int, str], ...]:
    parts = text.split(".") if text else []
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def highest(wanted: str, versions: Iterable[str]) -> str | None:
    """Return the highest version that fits a range, None where none does. Raises ValueError.

    A range that equals one of the versions selects exactly that one.
    """
    known = list(versions)
    if wanted in known:
        return wanted
    alternatives = parse_range(wanted)
    fitting = []
    for text in known:
        try:
            version = Version.parse(text)
        except ValueError:
            continue
        if any(_fits(version, comparators) for comparators in alternatives):
            fitting.append((version, text))
    return max(fitting)[1] if fitting else None


def parse_range(text: str) -> list[list[Comparator]]:
    """Return alternatives; all comparators of one must match. Raises ValueError."""
    if len(text) > MAX_RANGE:
        raise ValueError("the range is too long")
    return [_comparators(part.strip()) for part in text.split("||")]


def _comparators(text: str) -> list[Comparator]:
    low, dash, high = text.partition(" - ")
    if dash:
        return [*_desugared(f">={low.strip()}"), *_desugared(f"<={high.strip()}")]
    joined = re.sub(r"([<>=^~])\s+", r"\1", text)
    return [each for part in joined.split() for each in _desugared(part)]


def _desugared(text: str) -> list[Comparator]:
    match = _PARTIAL.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text[:60]}' is not a range of versions; write ^1.2.0, ~1.2, >=1.0.0 or 1.x")
    sign, *given, more = match.groups()
    numbers = [int(part) for part in given if part and part.isdecimal()]
    known = next((place for place, part in enumerate(given) if not (part and part.isdecimal())), 3)
    numbers = numbers[:known]
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    low = Version(major, minor, patch, more is None, _prerelease(more))
    if known == 0:
        return [("<", _before(0, 0, 0))] if sign in ("<", ">") else []
    if sign == "^":
        place = next((place for place, number in enumerate(numbers) if number), known - 1)
        return [(">=", low), ("<", _above(low, place))]
    if sign == "~":
        return [(">=", low), ("<", _above(low, min(known - 1, 1)))]
    if known == 3:
        return [(sign or "=", low)]
    above = _above(low, known - 1)
    return {
        ">": [(">=", Version(*above[:3]))],
        ">=": [(">=", low)],
        "<": [("<", _before(*low[:3]))],
        "<=": [("<", above)],
    }.get(sign or "=", [(">=", low), ("<", above)])


def _above(version: Version, place: int) -> Version:
    """Return the lowest version, prereleases included, whose number at `place` is one more."""
    major, minor, patch = version[:3]
    return (_before(major + 1, 0, 0), _before(major, minor + 1, 0), _before(major, minor, patch + 1))[place]


def _before(major: int, minor: int, patch: int) -> Version:
    return Version(major, minor, patch, False, ((0, 0, ""),))


def _fits(version: Version, comparators: list[Comparator]) -> bool:
    if not all(_COMPARISONS[sign](version, bound) for sign, bound in comparators):
        return False
    # A prerelease is meant only where a bound is a prerelease of the same three numbers.
    return version.is_release or any(
        bound[:3] == version[:3] and not bound.is_release for _, bound in comparators
    )
