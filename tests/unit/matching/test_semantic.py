"""Meaning: the real model, its tokens, and vectors that are made once for all processes."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.matching import MatchingSettings, SkillMatcher, embedding
from skillkit.matching.embedding import MiniLM, default_embedder
from skillkit.matching.vectors import VectorCache
from skillkit.matching.wordpiece import WordPiece

TEXTS = ["Bake bread at home", "Compile CUDA kernels", "Plan a wedding"]


class Counting:
    """The real model, counting what it is asked for."""

    def __init__(self):
        self.model = default_embedder()
        self.identity = self.model.identity
        self.texts = []

    def embed(self, texts, tokens=256):
        self.texts.extend(texts)
        return self.model.embed(texts, tokens)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, world!", ["hello", ",", "world", "!"]),
        ("Naïve café", ["naive", "cafe"]),
        ("tokenization", ["token", "##ization"]),
        ("a\0b\u200b", ["ab"]),
        ("東京", ["東", "京"]),
        ("x" * 101, ["[UNK]"]),
        ("\U00013000", ["[UNK]"]),
        ("", []),
    ],
)
def test_tokens_are_those_of_bert(text, words):
    pieces = WordPiece()
    numbers = [pieces.numbers[word] for word in ("[CLS]", *words, "[SEP]")]
    assert pieces.encode(text, 64) == numbers


def test_a_long_text_is_cut_and_still_ends_as_it_should():
    pieces = WordPiece()
    numbers = pieces.encode("word " * 1000, 32)
    assert len(numbers) == 32
    assert numbers[-1] == pieces.end


def test_vectors_have_length_one_and_near_meanings_are_near():
    vectors = default_embedder().embed([*TEXTS, "How do I make a loaf in my oven?"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert int((vectors[:3] @ vectors[3]).argmax()) == 0


def test_a_text_has_the_same_vector_alone_and_in_a_batch():
    model = default_embedder()
    together = model.embed([*TEXTS, "x " * 300])
    assert np.allclose(together[0], model.embed([TEXTS[0]])[0], atol=1e-4)


def test_a_model_that_is_not_the_one_calibrated_is_refused(monkeypatch):
    monkeypatch.setattr(embedding, "MODEL_DIGEST", "0" * 64)
    with pytest.raises(ConfigurationError, match="Reinstall"):
        MiniLM().embed(["text"])


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("make these photographs smaller before I upload them", "image"),
        ("charge my client for last month's work", "invoice-writer"),
    ],
)
def test_paraphrases_are_found_without_a_common_word(everyday, tmp_path, request_, expected):
    matcher = SkillMatcher(everyday, mode="semantic", settings=MatchingSettings(cache_dir=tmp_path / "c"))
    first = matcher.rank(request_, 1)[0]
    assert first.skill.name == expected
    assert matcher.match("") == []
    assert SkillMatcher([], mode="semantic", settings=MatchingSettings()).match(request_) == []


def test_the_reason_tells_the_cosine(everyday):
    matcher = SkillMatcher(everyday, mode="semantic", settings=MatchingSettings())
    (match,) = matcher.match("extract the text of a PDF file", limit=1)
    assert match.reasons[0].startswith("its description means something close (cosine 0.")
    assert matcher.rank("completely unrelated penguins")[0].reasons == ()


def test_a_request_is_embedded_once_and_a_changed_library_again(everyday):
    model = Counting()
    matcher = SkillMatcher(everyday[:2], mode="semantic", settings=MatchingSettings(), embedder=model)
    for _ in range(3):
        matcher.match("scan")
    assert len(model.texts) == 3
    matcher.remove(everyday[0])
    assert [match.skill for match in matcher.rank("scan")] == [everyday[1]]


def test_vectors_are_made_once_for_every_process(tmp_path):
    first, again = Counting(), Counting()
    made = VectorCache(tmp_path).vectors(TEXTS, first)
    kept = VectorCache(tmp_path).vectors([*TEXTS, TEXTS[0]], again)
    assert first.texts == TEXTS
    assert again.texts == []
    assert np.allclose(made, kept[:3], atol=1e-3)
    assert VectorCache(tmp_path).vectors([], again).size == 0


def test_without_a_folder_vectors_are_made_again(tmp_path):
    model = Counting()
    cache = VectorCache(None)
    cache.vectors(TEXTS[:1], model)
    cache.vectors(TEXTS[:1], model)
    cache.close()
    assert len(model.texts) == 2


@pytest.mark.parametrize("damage", [b"", b"not a database at all" * 100, None])
def test_a_damaged_cache_is_made_anew(tmp_path, damage):
    cache = VectorCache(tmp_path)
    cache.vectors(TEXTS, Counting())
    cache.close()
    file = tmp_path / "vectors.sqlite"
    content = file.read_bytes()
    file.write_bytes(content[:2048] + b"\xff" * (len(content) - 2048) if damage is None else damage)
    model = Counting()
    assert VectorCache(tmp_path).vectors(TEXTS, model).shape == (3, 384)
    assert model.texts == TEXTS
    after = Counting()
    VectorCache(tmp_path).vectors(TEXTS, after)
    assert after.texts == []


def test_a_row_that_is_no_vector_is_not_believed(tmp_path):
    import sqlite3

    cache = VectorCache(tmp_path)
    cache.vectors(TEXTS, Counting())
    cache.close()
    with sqlite3.connect(tmp_path / "vectors.sqlite") as connection:
        numbers = [row[0] for row in connection.execute("SELECT digest FROM vectors")]
        connection.execute("UPDATE vectors SET vector = x'00' WHERE digest = ?", (numbers[0],))
        connection.execute("UPDATE vectors SET vector = zeroblob(768) WHERE digest = ?", (numbers[1],))
    connection.close()
    model = Counting()
    vectors = VectorCache(tmp_path).vectors(TEXTS, model)
    assert len(model.texts) == 2
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-2)


def test_the_cache_is_bounded(tmp_path):
    import sqlite3

    cache = VectorCache(tmp_path, most=2)
    cache.vectors(TEXTS, Counting())
    cache.close()
    connection = sqlite3.connect(tmp_path / "vectors.sqlite")
    assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (2,)
    connection.close()


@pytest.mark.parametrize("make", ["file", "readonly"])
def test_where_nothing_can_be_kept_matching_works_all_the_same(tmp_path, make):
    folder = tmp_path / "cache"
    if make == "file":
        folder.write_text("in the way")
    else:
        (folder / "vectors.sqlite").mkdir(parents=True)
        folder.chmod(0o500)
    assert VectorCache(folder / "deeper" if make == "file" else folder).vectors(TEXTS, Counting()).shape == (
        3,
        384,
    )


def test_many_processes_share_one_cache(tmp_path):
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        import numpy as np
        from skillkit.matching.vectors import VectorCache

        class Model:
            identity = "counting"
            def embed(self, texts, tokens=256):
                rows = np.ones((len(texts), 384), dtype=np.float32)
                return rows / np.linalg.norm(rows, axis=1, keepdims=True)

        cache = VectorCache(Path(sys.argv[1]))
        for number in range(40):
            cache.vectors([f"text {number}", f"{sys.argv[2]} {number}"], Model())
        """
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(number)]) for number in range(4)
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0, 0]
    import sqlite3

    connection = sqlite3.connect(tmp_path / "vectors.sqlite")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (200,)
    connection.close()
