"""Processed prompt prefixes on disk: a new process computes only the rest."""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.disk import replace_file

KEEP = 12
"""Number of states, 10 to 40 MB each: enough for the bundled skills and as many of the user's."""
_FENCED = re.compile(r"\[([0-9a-f]{16}) begin\]\n(.*?)\n\[\1 end\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PromptState:
    """The state after processing `text`."""

    name: str
    text: str

    @property
    def filename(self) -> str:
        return f"{self.name}.state"

    def shared(self, prompt: str) -> int:
        """Return how many characters of `prompt` this state saves processing."""
        return shared_beginning(self.text, prompt)


class PromptStates:
    """A folder with the most recently used states; a state is valid only for the engine that wrote it."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        self.identity = identity
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def nearest(self, prompt: str) -> PromptState | None:
        """Return the state that shares the longest prefix with `prompt`."""
        states = []
        for path in self.folder.glob(f"{self._prefix}*.txt"):
            with suppress(OSError, UnicodeDecodeError):
                states.append(PromptState(path.stem, path.read_text("utf-8")))
        return max(states, key=lambda state: state.shared(prompt), default=None)

    def new(self, text: str) -> PromptState:
        return PromptState(f"{self._prefix}{_digest(text)}", text)

    def keep(self, state: PromptState) -> None:
        """Record a newly written state; delete the least recently used beyond the limit."""
        os.chmod(self.folder / state.filename, 0o600)
        replace_file(self.folder / f"{state.name}.txt", state.text.encode(), 0o600)
        known = sorted(self.folder.glob("*.txt"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in known[KEEP:]:
            self.forget(path.stem)

    def touch(self, state: PromptState) -> None:
        with suppress(OSError):
            os.utime(self.folder / f"{state.name}.txt")

    def reuse_nonces(self, texts: Sequence[str]) -> list[str]:
        """Return the texts with reproducible nonces, the same for the same fenced text.

        Nonces are usually new in every conversation, so that nobody can predict them. These are unpredictable
        to anyone without this machine's secret.
        """
        renamed: dict[str, str] = {}
        for text in texts:
            for mark, inside in _FENCED.findall(text):
                fresh = hmac.new(self._secret(), inside.encode(), hashlib.sha256).hexdigest()[:16]
                if fresh not in inside:
                    renamed[mark] = fresh
        return [_replaced(text, renamed) for text in texts]

    def _secret(self) -> bytes:
        path = self.folder / "secret"
        if not path.exists():
            replace_file(path, secrets.token_bytes(32), 0o600)
        return path.read_bytes()

    def forget(self, name: str) -> None:
        for suffix in (".txt", ".state"):
            with suppress(FileNotFoundError):
                (self.folder / f"{name}{suffix}").unlink()

    @property
    def _prefix(self) -> str:
        return f"{_digest(self.identity)}-"


def shared_beginning(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts, in characters."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _replaced(text: str, renamed: dict[str, str]) -> str:
    for mark, fresh in renamed.items():
        text = text.replace(mark, fresh)
    return text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
