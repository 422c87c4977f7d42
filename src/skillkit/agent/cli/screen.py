"""Live view of an answer at the terminal: spinner, tool calls, rendered Markdown."""

import asyncio
import re
import time
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.agent.telemetry import Step
from skillkit.core.text import escape_hidden, one_line, strip_hidden

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text

_MAX_LINE = 200
_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_NEW_BLOCK = re.compile(r"\n\n+(?=\S)")
"""An empty line and what begins at the margin; what is set in belongs to a list above it."""
_MAX_BLOCK = 16_000
"""Characters of a block that is drawn as one; drawing all of a longer one again would take its time."""
_PAUSE, _SHARE = 0.05, 5
"""Seconds between two drawings, and how many times as long as the last one took."""


class AnswerScreen:
    """Live view of one turn. Finished paragraphs stay; only the current one is redrawn."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._drawn = DrawnLines(output.console())
        self._activity = ""
        self._since = 0.0
        self._unfinished = ""
        self._next_drawing = 0.0
        self._later: asyncio.TimerHandle | None = None

    def activity(self, text: str) -> None:
        """Show the current activity until text arrives."""
        self._finish_paragraphs(everything=True)
        self._activity, self._since = one_line(text)[:_MAX_LINE], time.monotonic()
        if self._live is None:
            from rich.live import Live

            self._live = Live(
                get_renderable=self._sign_of_life,
                console=output.console(),
                transient=True,
                refresh_per_second=8,
            )
            self._live.start()
        self._live.refresh()

    def step(self, step: Step) -> None:
        """Leave a quiet line for a tool that was called."""
        if step.kind != "tool":
            return
        self._finish_paragraphs(everything=True)
        line = f"· {step.name} ({step.seconds:.1f} s) {one_line(step.arguments)}"
        self.stop()
        output.console().print(_one_line(escape_hidden(line)))

    def text(self, piece: str) -> None:
        self._stop_activity()
        self._unfinished += strip_hidden(piece)
        self._finish_paragraphs()
        wait = self._next_drawing - time.monotonic()
        if wait <= 0:
            self._draw()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(wait, self._draw)

    def finish(self) -> None:
        """Leave the whole answer on the screen."""
        self._finish_paragraphs(everything=True)
        self._stop_activity()

    def stop(self) -> None:
        """Clear the live region, for a question or a message."""
        self._stop_activity()
        self._stop_drawing()
        self._drawn.clear()

    def _stop_activity(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _stop_drawing(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None

    def _draw(self) -> None:
        """Draw the paragraph that is being written; less often the longer that takes."""
        self._stop_drawing()
        if self._unfinished.strip() and not output.console().is_dumb_terminal:
            began = time.monotonic()
            self._drawn.draw(_markdown(self._unfinished))
            ended = time.monotonic()
            self._next_drawing = ended + max(_PAUSE, _SHARE * (ended - began))

    def _sign_of_life(self) -> "Text":
        seconds = int(time.monotonic() - self._since)
        mark = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(time.monotonic() * 8) % 10]
        waited = f" · {seconds} s" if seconds else ""
        return _one_line(f"{mark} {escape_hidden(self._activity)}", waited)

    def _finish_paragraphs(self, *, everything: bool = False) -> None:
        """Print the finished part: everything up to the last block outside of code."""
        blocks = [found.start() for found in _NEW_BLOCK.finditer(self._unfinished)]
        whole = (end for end in reversed(blocks) if not len(_FENCE.findall(self._unfinished[:end])) % 2)
        end = len(self._unfinished) if everything else next(whole, 0)
        done, self._unfinished = self._unfinished[:end], self._unfinished[end:].lstrip("\n")
        if not done.strip() and len(self._unfinished) > _MAX_BLOCK:
            done, self._unfinished = _cut(self._unfinished)
        if not done.strip():
            return
        self._stop_activity()
        self._stop_drawing()
        self._drawn.draw(_markdown(done))
        self._drawn.keep()
        if not everything:
            output.console().print()


def _cut(block: str) -> tuple[str, str]:
    """Split a long block between words; code continues as code."""
    end = max(block.rfind("\n"), 0) or max(block.rfind(" "), 0) or len(block)
    fences = [found.group().strip() for found in _FENCE.finditer(block[:end])]
    again = f"{fences[-1]}\n" if len(fences) % 2 else ""
    return block[:end], again + block[end:].lstrip("\n")


def _one_line(text: str, end: str = "") -> "Text":
    """Return a dim line truncated at the width: text from a model must not begin a line of its own."""
    from rich.text import Text

    line = Text(text, style="dim")
    line.truncate(max(1, output.console().width - len(end)), overflow="ellipsis")
    return line.append(end)


def _markdown(text: str) -> "RenderableType":
    from rich.markdown import Markdown

    return Markdown(text.strip(), hyperlinks=False)  # an address is shown, not hidden behind its words


_ERASE_BELOW = "\x1b[J"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_BACKGROUND = re.compile(r"\x1b\[(?:[0-9;]*;)?4[0-8][;m]")


class DrawnLines:
    """The drawn lines of a growing text; the cursor is at the end of the last one.

    What stays is not erased, so that nothing flickers; what has left the screen at its top is as it was.
    """

    def __init__(self, screen: "Console") -> None:
        self.screen = screen
        self._lines: list[str] = []

    def draw(self, content: "RenderableType") -> None:
        """Replace the drawn lines by these."""
        lines = self._rendered(content)
        pairs = zip(self._lines, lines, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        drawn = len(self._lines)
        if same == drawn == len(lines):
            return
        if same == drawn - 1 and same < len(lines) and lines[same].startswith(self._lines[same]):
            begun = len(self._lines[same])  # the last line continues
            text = "\n".join([lines[same][begun:], *lines[drawn:]])
        elif same == drawn:
            text = "\n" * bool(drawn) + "\n".join(lines[same:])
        else:
            up = min(drawn - 1 - same, self.screen.height - 1)
            text = _to_beginning(up) + "\n".join(lines[drawn - 1 - up :])
        self._lines = lines
        self._write(text)

    def clear(self) -> None:
        """Erase the lines."""
        if self._lines:
            self._write(_to_beginning(min(len(self._lines), self.screen.height) - 1))
        self._lines = []

    def keep(self) -> None:
        """Keep the lines and move to the next one."""
        if self._lines:
            self._write("\n")
        self._lines = []

    def _rendered(self, content: "RenderableType") -> list[str]:
        """The lines with their colours, without the space that only fills them and is around them."""
        with self.screen.capture() as captured:
            self.screen.print(content)
        lines = [line.rstrip(" ") for line in captured.get().split("\n")]
        while lines and _is_blank(lines[-1]):
            lines.pop()
        return list(dropwhile(_is_blank, lines))

    def _write(self, text: str) -> None:
        self.screen.file.write(text)
        self.screen.file.flush()


def _is_blank(line: str) -> bool:
    return not _STYLE.sub("", line).strip() and not _BACKGROUND.search(line)


def _to_beginning(up: int) -> str:
    """Go some lines up and erase from there to the end of the screen."""
    return "\r" + f"\x1b[{up}A" * bool(up) + _ERASE_BELOW
