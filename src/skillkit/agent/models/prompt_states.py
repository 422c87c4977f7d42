"""Processed beginnings of prompts, on disk: the next program computes only what is new."""

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from skillkit.install.disk import replace_file

KEEP = 6
# What stands between the marks of a fence differs in every conversation.
_FENCE = re.compile(r"\[[0-9a-f]{16} begin\]")


@dataclass(frozen=True, slots=True)
class PromptState:
    """The state after `text`."""

    name: str
    text: str

    @property
    def filename(self) -> str:
        return f"{self.name}.state"

    def covers(self, text: str) -> bool:
        return self.text.startswith(text)


class PromptStates:
    """A folder with the few states used last; a state is only of use to the engine that wrote it."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        self.identity = identity
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def fixed_part(self, prompt: str) -> str:
        """What of a prompt can be the same next time."""
        fence = _FENCE.search(prompt)
        return prompt[: fence.start()] if fence else prompt

    def nearest(self, prompt: str) -> PromptState | None:
        """The state that shares the longest beginning with `prompt`."""
        best, shared = None, 0
        for path in self.folder.glob(f"{self._prefix}*.txt"):
            with suppress(OSError, UnicodeDecodeError):
                state = PromptState(path.stem, path.read_text("utf-8"))
                common = len(os.path.commonprefix([state.text, prompt]))
                if common > shared:
                    best, shared = state, common
        return best

    def new(self, text: str) -> PromptState:
        return PromptState(f"{self._prefix}{_digest(text)}", text)

    def keep(self, state: PromptState) -> None:
        """Note a state that was written; the ones used longest ago make room."""
        os.chmod(self.folder / state.filename, 0o600)
        replace_file(self.folder / f"{state.name}.txt", state.text.encode(), 0o600)
        known = sorted(self.folder.glob("*.txt"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in known[KEEP:]:
            self._delete(path.stem)

    def touch(self, state: PromptState) -> None:
        with suppress(OSError):
            os.utime(self.folder / f"{state.name}.txt")

    def forget(self, state: PromptState) -> None:
        self._delete(state.name)

    def clear(self) -> None:
        for path in self.folder.glob("*.txt"):
            self._delete(path.stem)

    def _delete(self, name: str) -> None:
        for suffix in (".txt", ".state"):
            with suppress(FileNotFoundError):
                (self.folder / f"{name}{suffix}").unlink()

    @property
    def _prefix(self) -> str:
        return f"{_digest(self.identity)}-"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
