"""Whether a request says a language: by its name, or with a word that is not English."""

import re
from collections.abc import Collection

from skillkit.matching.terms import STOP_WORDS, is_usual, terms

_NAMES = frozenset(
    terms(
        """
        albanian amharic arabic armenian bengali bulgarian catalan chinese croatian czech danish dutch english
        estonian farsi filipino finnish flemish french gaelic german greek hausa hawaiian hebrew hindi
        hungarian icelandic igbo indonesian irish italian japanese khmer korean latin latvian lithuanian malay
        maltese mandarin mongolian nepali norwegian persian polish portuguese punjabi romanian russian serbian
        slovak somali spanish swahili swedish tagalog tamil thai tibetan turkish ukrainian urdu vietnamese
        welsh yoruba zulu deutsch français español italiano português nederlands
        """
    )
)
_WORD = re.compile(r"[^\W\d_]+")


def is_language(text: str) -> bool:
    """Return whether a text is the name of a language and nothing else."""
    stems = terms(text)
    return bool(stems) and _NAMES.issuperset(stems)


def says_language(request: str, besides: Collection[str] = ()) -> bool:
    """Return whether a request names a language or has a word that no ordinary English text has.

    Names of people are such words, too: what is written with a capital counts only at the beginning.
    `besides` are stems of words that say nothing of a language, such as those of a tool.
    """
    for place, word in enumerate(_WORD.findall(request)):
        stems = terms(word)
        if _NAMES.intersection(stems):
            return True
        strange = bool(stems) and not any(map(is_usual, stems)) and not set(stems) <= set(besides)
        if strange and word.casefold() not in STOP_WORDS and (place == 0 or word.islower()):
            return True
    return False
