"""WordPiece: text to the token numbers that BERT-like models read."""

import gzip
import unicodedata
from functools import lru_cache
from importlib import resources

CLASSIFY, SEPARATE, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
LONGEST_WORD = 100


class WordPiece:
    """The uncased English vocabulary of BERT, which ships with skillkit (Apache-2.0)."""

    def __init__(self) -> None:
        packed = resources.files("skillkit.matching").joinpath("wordpiece.txt.gz").read_bytes()
        words = gzip.decompress(packed).decode("utf-8").split("\n")
        self.numbers = {word: number for number, word in enumerate(words) if word}
        self.start, self.end = self.numbers[CLASSIFY], self.numbers[SEPARATE]
        self.unknown = self.numbers[UNKNOWN]
        self._pieces = lru_cache(maxsize=50_000)(self._split)

    def encode(self, text: str, limit: int) -> list[int]:
        """At most `limit` token numbers, the two marks at the ends included."""
        numbers = [self.start]
        for word in words_of(text):
            numbers.extend(self._pieces(word))
            if len(numbers) >= limit:
                break
        return [*numbers[: limit - 1], self.end]

    def _split(self, word: str) -> tuple[int, ...]:
        """Longest known piece first, as the model was trained."""
        if len(word) > LONGEST_WORD:
            return (self.unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else "##" + word[start:end]
                if piece in self.numbers:
                    pieces.append(self.numbers[piece])
                    start = end
                    break
            else:
                return (self.unknown,)
        return tuple(pieces)


def words_of(text: str) -> list[str]:
    """Lower-case words without accents; punctuation and CJK characters stand alone."""
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
    out: list[str] = []
    for character in text.lower():
        if character.isalnum() and not _is_cjk(character):
            out.append(character)
        elif character.isspace():
            out.append(" ")
        elif unicodedata.category(character) not in _DROPPED:
            out.append(f" {character} ")
    return "".join(out).split()


_DROPPED = frozenset({"Mn", "Cc", "Cf", "Cs", "Co", "Cn"})


def _is_cjk(character: str) -> bool:
    code = ord(character)
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x2FA1F
    )
