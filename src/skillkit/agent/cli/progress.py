"""Show progress on stderr: a spinner on a terminal, plain lines in logs."""

from threading import Lock
from typing import TYPE_CHECKING, Self

from skillkit.agent.cli import output
from skillkit.core.text import escape_hidden

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID
    from rich.status import Status


class Progress:
    """Shows the activity it is called with; use it as a context manager."""

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


class ProgressBar:
    """Progress of a download on stderr: a bar for people, a line for every tenth in a log."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._tenth = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def say(self, text: str) -> None:
        output.remark(escape_hidden(text))

    def advance(self, there: int, size: int) -> None:
        screen = output.console(stderr=True)
        if not screen.is_terminal:
            tenth = there * 10 // size
            if tenth > self._tenth:
                self._tenth = tenth
                self.say(f"{tenth * 10} % of {size / 1e9:.1f} GB")
            return
        if self._bar is None:
            from rich import progress as rich
            from rich.progress import Progress as Bar

            self._bar = Bar(
                rich.BarColumn(), rich.DownloadColumn(), rich.TimeRemainingColumn(), console=screen
            )
            self._task = self._bar.add_task("model", total=size)
            self._bar.start()
        assert self._task is not None
        self._bar.update(self._task, completed=there)
        if there >= size:
            self.__exit__()


def about_download(needed: str) -> str:
    return (
        f"The embedded model has to be fetched, once: {needed}. To use another one instead, name an "
        "endpoint (export OPENAI_BASE_URL=…) or a key (export OPENAI_API_KEY=…, or one of Anthropic, Azure "
        "or Gemini), or start Ollama."
    )
