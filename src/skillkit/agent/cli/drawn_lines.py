"""Lines at the end of the screen that may still change: only what differs is written again."""

import re
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_ERASE_BELOW = "\x1b[J"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_BACKGROUND = re.compile(r"\x1b\[(?:[0-9;]*;)?4[0-8][;m]")


class DrawnLines:
    """What was drawn of a text that grows; the cursor stands at the end of its last line.

    What stays is not erased, so that nothing flickers; what has left the screen at its top is as it was.
    """

    def __init__(self, screen: "Console") -> None:
        self.screen = screen
        self._lines: list[str] = []

    def draw(self, content: "RenderableType") -> None:
        """Let the screen show this in place of what was drawn before."""
        lines = self._rendered(content)
        pairs = zip(self._lines, lines, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        drawn = len(self._lines)
        if same == drawn == len(lines):
            return
        if same == drawn - 1 and same < len(lines) and lines[same].startswith(self._lines[same]):
            begun = len(self._lines[same])  # the last line goes on
            text = "\n".join([lines[same][begun:], *lines[drawn:]])
        elif same == drawn:
            text = "\n" * bool(drawn) + "\n".join(lines[same:])
        else:
            up = min(drawn - 1 - same, self.screen.height - 1)
            text = _to_beginning(up) + "\n".join(lines[drawn - 1 - up :])
        self._lines = lines
        self._write(text)

    def clear(self) -> None:
        """Take it from the screen."""
        if self._lines:
            self._write(_to_beginning(min(len(self._lines), self.screen.height) - 1))
        self._lines = []

    def keep(self) -> None:
        """Leave it as it is and go to the next line."""
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
