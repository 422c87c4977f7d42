"""Text to search terms: folded, split, stemmed, without the words that every request has."""

import gzip
import math
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from importlib import resources
from itertools import chain

from skillkit.matching.porter import stem

_ACCENTS = re.compile("[\u0300-\u036f]")
# Scripts whose vowel signs are not letters to `re`, taken as whole blocks.
_ABUGIDAS = "\u0590-\u05ff\u0610-\u06ff\u0900-\u109f\u1780-\u17ff"
# Scripts written without spaces between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
_WORD = re.compile(rf"[^\W_](?:[^\W_]|['’{_ABUGIDAS}])*(?:\+\+|\#(?!\w))?|[{_ABUGIDAS}]+")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_UNSPACED_OR_NOT = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_HUMPS = re.compile(
    "(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
# The same for a word of nothing but these, as what stands between the humps: faster than looking around.
_BETWEEN_HUMPS = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_FILE = re.compile(r"(?<![\w./-])[A-Za-z][\w-]+\.[A-Za-z]{2,5}[0-9]?(?![\w/-])")
"""`package.json`, `Next.js`: said as a whole it means more than its parts."""
LONGEST_WORD = 64
# ASCII that is in no word, as spaces: a text is cut there without the regular expression.
_ASCII_GAPS = bytes(
    code if code > 127 or chr(code).isalnum() or chr(code) in "'+#" else ord(" ") for code in range(256)
)

# Function words of English, and the words that any request or any description is made of.
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
    """`text` as it is compared: without case, accents and compatibility forms."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))


def terms(text: str) -> list[str]:
    """The search terms of `text` in order, repeated as often as they occur."""
    if text.isalpha() and text.isascii():  # one word, as each is that a request is made of
        return list(_terms_of_word(text))
    found = list(chain.from_iterable(map(_terms_of_word, _WORD.findall(text))))
    if "." in text:
        found.extend(name.lower() for name in _FILE.findall(text))
    return found


def count_terms(text: str) -> dict[str, int]:
    """How often each search term occurs in a long text, names of files only by their parts."""
    pieces = text.encode("utf-8", "surrogatepass").translate(_ASCII_GAPS).split()
    counts = Counter(map(_PIECES.__getitem__, pieces))  # no loop of ours over every word
    counts.pop("", None)
    for several in [joined for joined in counts if " " in joined]:
        count = counts.pop(several)
        for term in several.split(" "):
            counts[term] = counts.get(term, 0) + count
    return counts


class _Pieces(dict[bytes, str]):
    """What stands between two gaps → its terms, with a space between them: mostly one, none for a stop word,
    beyond ASCII those of several words. Libraries have few different words, and each is split once."""

    def __missing__(self, piece: bytes) -> str:
        joined = self._joined(piece)
        if len(self) >= MOST_PIECES:
            self.clear()
        self[piece] = joined
        return joined

    def _joined(self, piece: bytes) -> str:
        if len(piece) <= LONGEST_WORD and piece.isascii():
            if piece.islower() and piece.isalpha():  # as most are: one part, nothing to fold
                word = piece.decode()
                return "" if word in STOP_WORDS else _stem(word)
            if piece.isdigit():
                return piece.decode()
            bare = piece.strip(b"'")
            if bare.isalpha() and (bare[1:].islower() or bare.isupper()):  # one part
                return self[bare.lower()]
            if bare.isalnum():
                return " ".join(_terms_of_word(bare.decode()))
        return " ".join(terms(piece.decode("utf-8", "surrogatepass")))


MOST_PIECES = 131_072
_PIECES = _Pieces()


@lru_cache(maxsize=65_536)
def _terms_of_word(word: str) -> tuple[str, ...]:
    if len(word) <= LONGEST_WORD and word.isascii() and word.isalpha() and not _has_humps(word):
        whole = word.lower()  # as most words are: one part, nothing to fold
        return () if whole in STOP_WORDS else (_stem(whole),)
    if not word.isascii() and _UNSPACED_RUN.search(folded := fold(word)):
        found: list[str] = []
        for piece in _UNSPACED_OR_NOT.findall(folded):
            found.extend(_pairs(piece) if _UNSPACED_RUN.match(piece) else _terms_of_word(piece))
        return tuple(found)
    if len(word) > LONGEST_WORD:
        return ()
    word = word.replace("’", "'")
    word = (word[:-2] if word.lower().endswith("'s") else word).replace("'", "")
    whole = fold(word)
    found = [] if whole in STOP_WORDS or not whole else [_stem(whole)]
    humps = _BETWEEN_HUMPS.findall(word) if word.isascii() and word.isalnum() else _HUMPS.split(word)
    if len(humps) > 1:
        parts = (hump.lower() for hump in humps if len(hump) > 1 and not hump.isdigit())
        found.extend(_stem(part) for part in parts if part not in STOP_WORDS)
    return tuple(found)


def _has_humps(word: str) -> bool:
    return not (word.islower() or word[1:].islower() or word.isupper())


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """The stem, the same for `organise` and `organize`."""
    return stem(_BRITISH.sub("iz", word) if "is" in word else word)


def _pairs(run: str) -> list[str]:
    """Neighbouring characters, which find words where no space marks them."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def commonness(term: str) -> float:
    """1 for the commonest stem of English, 0 for one that is not among the common ones; so that a small
    library need not guess it from its own few texts."""
    if len(term) <= 2 and term.isdigit():
        return 1.0  # the vocabulary leaves small numbers out; they are in any text and tell nothing
    return _common_stems().get(term, 0.0)


@lru_cache(maxsize=1)
def _common_stems() -> dict[str, float]:
    packed = resources.files("skillkit.matching").joinpath("common_stems.txt.gz").read_bytes()
    stems = gzip.decompress(packed).decode("utf-8").split("\n")
    whole = math.log(len(stems))
    return {term: 1 - math.log(rank) / whole for rank, term in enumerate(stems, 1)}
