"""Convert text to search terms: case-folded, split, stemmed, without stop words."""

import gzip
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from skillkit.matching.porter import stem

_ACCENTS = re.compile("[\u0300-\u036f]")
# Scripts whose vowel signs `re` does not treat as letters, included as whole blocks.
_ABUGIDAS = "\u0590-\u05ff\u0610-\u06ff\u0900-\u109f\u1780-\u17ff"
# Scripts without spaces between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
_WORD = re.compile(rf"[^\W_](?:[^\W_]|['’{_ABUGIDAS}])*(?:\+\+|\#(?!\w))?|[{_ABUGIDAS}]+")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_UNSPACED_OR_NOT = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
LONGEST_WORD = 64
# ASCII characters outside words become spaces, so that long texts are split without a regular expression.
_GAPS = bytes(
    code if code > 127 or chr(code).isalnum() or chr(code) in "'+#" else ord(" ") for code in range(256)
)

# English function words, and words common to all requests or descriptions.
STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any anyone anything are as at be because
    been before being below between both but by can cannot could did do does doing done down during
    each etc few for from further get gets getting give go going got had has have having he help
    helps her here hers him his how i if im in into is it its itself ive just kind let lets like lot
    make makes making many may maybe me might more most much must my need needed needs no nor not
    now of off ok okay on once one only onto or other others our ours out over own per please really
    same say shall she should so some someone something sort still such sure tell than thank thanks
    that the their theirs them themselves then there these they thing things this those through to
    too try trying under until up upon us use used user users uses using very via want wanted wants
    was way we well were what whatever when whenever where whether which while who whom whose why
    will with within without would yes yet you your yours yourself dont doesnt didnt isnt arent
    wasnt werent cant couldnt wont wouldnt shouldnt hasnt havent hadnt youre theyre weve youve id
    ill youll whats thats heres theres skills
    """.split()
)


_BRITISH = re.compile("(?<=[a-z]{4})is(?=(?:e[drs]?|ers|ing|ations?)$)")


def fold(text: str) -> str:
    """Normalise `text` for comparison: case, accents and compatibility forms are removed."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))


def is_unspaced(text: str) -> bool:
    """Return whether a text contains characters of a script without spaces between words."""
    return not text.isascii() and _UNSPACED_RUN.search(text) is not None


def words(text: str) -> list[str]:
    """Return the words of `text` as written."""
    return _WORD.findall(text)


def terms(text: str) -> list[str]:
    """Return the search terms of `text` in order, with repetitions."""
    return [term for word in words(text) for term in terms_of_word(word)]


def count_terms(text: str) -> dict[str, int]:
    """Return the count of each search term in a long text."""
    pieces = text.encode("utf-8", "surrogatepass").translate(_GAPS).split()
    counts = Counter(map(_PIECES.__getitem__, pieces))  # avoids a Python loop over every word
    counts.pop("", None)
    for several in [joined for joined in counts if " " in joined]:
        count = counts.pop(several)
        for term in several.split(" "):
            counts[term] += count
    return counts


class _Pieces(dict[bytes, str]):
    """Maps the text between two gaps to its terms, joined by spaces: usually one, none for a stop word."""

    def __missing__(self, piece: bytes) -> str:
        if len(self) >= MOST_PIECES:
            self.clear()
        self[piece] = joined = " ".join(terms(piece.decode("utf-8", "surrogatepass")))
        return joined


MOST_PIECES = 131_072
_PIECES = _Pieces()


@lru_cache(maxsize=65_536)
def terms_of_word(word: str) -> tuple[str, ...]:
    """Return the search terms of one word: usually its stem, none for a stop word, character pairs in scripts
    without spaces."""
    folded = fold(word)
    if is_unspaced(folded):
        found: list[str] = []
        for piece in _UNSPACED_OR_NOT.findall(folded):
            found.extend(_pairs(piece) if _UNSPACED_RUN.match(piece) else terms_of_word(piece))
        return tuple(found)
    whole = _bare(folded)
    if not whole or len(whole) > LONGEST_WORD or whole in STOP_WORDS:
        return ()
    if len(whole) <= 2 and whole.isdigit():
        return ()  # small numbers occur in any text
    return (_stem(whole),)


@lru_cache(maxsize=65_536)
def stem_of_word(word: str) -> str:
    """Return the stem of any word, stop words included."""
    return _stem(_bare(fold(word)))


def _bare(folded: str) -> str:
    """Remove apostrophes and a possessive s."""
    folded = folded.replace("’", "'")
    return folded.removesuffix("'s").replace("'", "")


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """Return the stem, the same for `organise` and `organize`."""
    return stem(_BRITISH.sub("iz", word) if "is" in word else word)


def _pairs(run: str) -> list[str]:
    """Return pairs of adjacent characters, which find words in scripts without spaces."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


class UsualTerms(NamedTuple):
    """Maps terms to the share of public skills that contain them; rare terms are omitted."""

    descriptions: dict[str, float]
    bodies: dict[str, float]


@lru_cache(maxsize=1)
def usual_terms() -> UsualTerms:
    """Return the general frequency of terms in skills, which a small library cannot provide itself."""
    packed = resources.files("skillkit.matching").joinpath("usual_terms.txt.gz").read_bytes()
    descriptions: dict[str, float] = {}
    bodies: dict[str, float] = {}
    for line in gzip.decompress(packed).decode("utf-8").splitlines():
        term, described, instructed = line.split(" ")
        if described != "0":
            descriptions[term] = int(described) / 1000
        if instructed != "0":
            bodies[term] = int(instructed) / 1000
    return UsualTerms(descriptions, bodies)
