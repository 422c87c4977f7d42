"""An answer at the terminal while it is written: a sign of life, quiet lines for tools, Markdown."""

import re
import time
from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.agent.telemetry import Step
from skillkit.core.text import escape_hidden, one_line, strip_hidden

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.text import Text


_MAX_LINE = 200
_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)


class AnswerScreen:
    """What a person sees of one turn. Finished paragraphs stay; only the one being written is drawn anew."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._activity = ""
        self._since = 0.0
        self._unfinished = ""

    def activity(self, text: str) -> None:
        """Say what is being done, for as long as nothing is written."""
        self._activity, self._since = one_line(text)[:_MAX_LINE], time.monotonic()
        self._draw()

    def step(self, step: Step) -> None:
        """Leave a quiet line for a tool that was called."""
        if step.kind != "tool":
            return
        self._finish_paragraphs(everything=True)
        line = f"· {step.name} ({step.seconds:.1f} s) {one_line(step.arguments)}"
        self.stop()
        output.console().print(_one_line(escape_hidden(line)))

    def text(self, piece: str) -> None:
        self._activity = ""
        self._unfinished += strip_hidden(piece)
        self._finish_paragraphs()
        self._draw()

    def finish(self) -> None:
        """Leave the whole answer on the screen."""
        self._finish_paragraphs(everything=True)
        self.stop()

    def stop(self) -> None:
        """Clear what is drawn anew, for a question or a message."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self) -> None:
        from rich.live import Live

        if self._live is None:
            screen = output.console()
            self._live = Live(
                get_renderable=self._current, console=screen, transient=True, refresh_per_second=8
            )
            self._live.start()
        else:
            self._live.refresh()

    def _current(self) -> "RenderableType":
        from rich.console import Group

        parts: list[RenderableType] = []
        if self._unfinished.strip():
            parts.append(_markdown(self._unfinished))
        if self._activity:
            parts.append(self._sign_of_life())
        return Group(*parts)

    def _sign_of_life(self) -> "Text":
        seconds = int(time.monotonic() - self._since)
        mark = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(time.monotonic() * 8) % 10]
        waited = f" · {seconds} s" if seconds else ""
        return _one_line(f"{mark} {escape_hidden(self._activity)}", waited)

    def _finish_paragraphs(self, *, everything: bool = False) -> None:
        """Print for good what will not change any more: all up to the last empty line outside of code."""
        end = len(self._unfinished) if everything else self._unfinished.rfind("\n\n")
        done, rest = self._unfinished[: max(end, 0)], self._unfinished[max(end, 0) :]
        if not done.strip() or (not everything and len(_FENCE.findall(done)) % 2):
            return
        self.stop()
        output.console().print(_markdown(done))
        self._unfinished = rest.lstrip("\n")
        if not everything:
            output.console().print()


def _one_line(text: str, end: str = "") -> "Text":
    """A quiet line that is cut where the screen ends: what a model chose must not begin a line of its own."""
    from rich.text import Text

    line = Text(text, style="dim")
    line.truncate(max(1, output.console().width - len(end)), overflow="ellipsis")
    return line.append(end)


def _markdown(text: str) -> "RenderableType":
    from rich.markdown import Markdown

    return Markdown(text.strip(), hyperlinks=False)  # an address is shown, not hidden behind its words
