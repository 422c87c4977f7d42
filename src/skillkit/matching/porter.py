"""Porter's stemmer: `optimises`, `optimised` and `optimising` have one stem."""

import string

_LETTERS = str.maketrans(string.ascii_lowercase, "vcccvcccvcccccvcccccvcccyc")

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_STEP_4 = tuple(
    "ement able ance ence ible ment ant ate ent ion ism iti ive ize ous al er ic ou".split()
)  # longest first
_ENDINGS = (*_STEP_2, *_STEP_3)
_ANY_ENDING = tuple("s ed ing y e ll al er ic ant ent ion ism ou ator ful ci li ti".split())
"""Every word that any step changes ends with one of these."""
_LONGEST = 7


def stem(word: str) -> str:
    """Return the stem of a lower-case word; a word with characters other than ASCII letters is unchanged."""
    if len(word) < 3 or not (word.endswith(_ANY_ENDING) and word.isascii() and word.isalpha()):
        return word
    word = _plural(word)
    word = _past_and_gerund(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    word = _without_suffix(word)
    return _tidy(word)


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return _mended(rest) if _has_vowel(rest) else word
    return word


def _mended(rest: str) -> str:
    """Restore the stem of `hop(ping)`, `fil(ing)` and `conflat(ed)` after removal of the ending."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _double_consonant(rest) and rest[-1] not in "lsz":
        return rest[:-1]
    if _measure(rest) == 1 and _short_end(rest):
        return rest + "e"
    return rest


def _replaced(word: str, table: dict[str, str]) -> str:
    if not word.endswith(_ENDINGS):
        return word
    for length in range(min(_LONGEST, len(word)), 2, -1):
        suffix = word[-length:]
        if suffix in table:
            rest = word[:-length]
            return rest + table[suffix] if _measure(rest) > 0 else word
    return word


def _without_suffix(word: str) -> str:
    if not word.endswith(_STEP_4):
        return word
    for suffix in _STEP_4:
        if not word.endswith(suffix):
            continue
        rest = word[: -len(suffix)]
        fits = suffix != "ion" or rest.endswith(("s", "t"))
        return rest if fits and _measure(rest) > 1 else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _short_end(rest)):
            word = rest
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _shape(word: str) -> str:
    """Return `v` for each vowel and `c` for each consonant; `y` is a vowel after a consonant."""
    shape = word.translate(_LETTERS)
    if "y" not in shape:
        return shape
    while (place := shape.find("y")) >= 0:
        vowel = place > 0 and shape[place - 1] == "c"
        shape = f"{shape[:place]}{'v' if vowel else 'c'}{shape[place + 1 :]}"
    return shape


def _measure(word: str) -> int:
    """Return how many times a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _short_end(word: str) -> bool:
    """Return whether a stem ends consonant, vowel, consonant, the last not w, x or y."""
    return word[-1:] not in ("w", "x", "y") and _shape(word)[-3:] == "cvc"
