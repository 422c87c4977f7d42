"""Makes `src/skillkit/matching/common_stems.txt.gz`: the commonest English stems, commonest first.

python3 -m benchmarks.matching.commonness
"""

import gzip
from pathlib import Path

import skillkit.matching
from skillkit.matching.terms import terms
from skillkit.matching.wordpiece import WordPiece

STEMS = 8_000
FIRST_WORD = 1_996  # before it the vocabulary has marks, unused places and single characters


def main() -> None:
    """BERT's vocabulary is ordered by how often a word occurs, which is all that is taken from it."""
    words = sorted(WordPiece().numbers.items(), key=lambda item: item[1])
    stems = dict.fromkeys(
        term for word, number in words if number >= FIRST_WORD and word.isalnum() for term in terms(word)
    )
    text = "\n".join(list(stems)[:STEMS])
    folder = Path(skillkit.matching.__file__).parent
    (folder / "common_stems.txt.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
