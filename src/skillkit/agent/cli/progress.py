"""Saying on stderr what takes its time: a spinner for people, plain lines for logs."""

from threading import Lock
from typing import TYPE_CHECKING, Self

from skillkit.agent.cli import output
from skillkit.core.text import escape_hidden

if TYPE_CHECKING:
    from rich.status import Status


class Progress:
    """Call it with what is being done now; use it as a context manager."""

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self._status: Status | None = None
        self._last = ""
        self._lock = Lock()  # sources are asked in parallel, and a screen has one spinner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pause()

    def __call__(self, text: str) -> None:
        with self._lock:
            self._show(text)

    def _show(self, text: str) -> None:
        if self.silent or text == self._last:
            return
        self._last = text
        screen = output.console(stderr=True)
        line = escape_hidden(text)
        if not screen.is_terminal:
            output.remark(f"{line} …")
        elif self._status is None:
            self._status = screen.status(line)
            self._status.start()
        else:
            self._status.update(line)

    def pause(self) -> None:
        """Clear the line, for a question or a result."""
        with self._lock:
            if self._status is not None:
                self._status.stop()
                self._status = None
