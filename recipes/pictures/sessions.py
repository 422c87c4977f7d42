"""Pictures of the terminal: the real program, its real output, no letter fetched from anywhere."""

import io
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
ANSWER = ROOT / "docs" / "pictures" / "answer.txt"
WIDTHS = (80, 40)
CHAT = {columns: ROOT / "docs" / "pictures" / f"chat-{columns}.txt" for columns in WIDTHS}
REQUEST = 'AGENT_SKILLS=all agent -p "Say bonjour to Alice" --verbose'
THEME = TerminalTheme(
    (22, 27, 34),
    (201, 209, 217),
    [
        (72, 79, 88),
        (255, 123, 114),
        (86, 211, 158),
        (227, 179, 65),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (201, 209, 217),
    ],
)
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="__LABEL__">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; }}
.{unique_id}-title {{ font-family: ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  font-size: 15px; font-weight: 600; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@dataclass(frozen=True)
class Session:
    """Commands with what they say; `agent …` is run as a person at a terminal of `columns` would."""

    label: str
    commands: tuple[str, ...]
    columns: int = 80

    def draw(self) -> str:
        return picture(self.label, self.screen(), self.columns)

    def screen(self) -> str:
        """What is on the screen, with its colours."""
        with tempfile.TemporaryDirectory() as home:
            said = [(command, run(command, self.columns, {"HOME": home})) for command in self.commands]
        return "\n".join(f"{prompt(command)}\n{output}" for command, output in said)


@dataclass(frozen=True)
class Recording:
    """What was on the screen when it was last recorded: it takes too long to be done each time."""

    label: str
    columns: int
    file: Path
    command: str

    def draw(self) -> str:
        return picture(self.label, self.screen(), self.columns)

    def screen(self) -> str:
        return f"{prompt(self.command)}\n{self.file.read_text(encoding='utf-8')}"


SESSIONS: Mapping[str, Session | Recording] = {
    "skill-list": Session("agent skill list", ("agent skill list examples/skills",), columns=100),
    "skill-match": Session(
        "agent skill match",
        ('agent skill match "Turn this CSV into a report" --in examples/skills',),
        columns=100,
    ),
    "skill-cost": Session("agent skill cost", ("agent skill cost --exact",)),
    "answer": Recording("one request, seen from inside", 96, ANSWER, REQUEST),
    **{
        f"chat-{columns}": Recording(f"chat, {columns} columns", columns, CHAT[columns], "agent")
        for columns in WIDTHS
    },
}


def record_answer() -> None:
    """Ask twice: the first time the model's state is prepared, the second is what a user sees every day."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    with tempfile.TemporaryDirectory() as home:
        settings = {"HOME": home, "XDG_CACHE_HOME": cache, "AGENT_SKILLS": "all"}
        for _ in range(2):
            said = run('agent -p "Say bonjour to Alice" --verbose', 96, settings, errors=True)
    ANSWER.write_text(said, encoding="utf-8")


def prompt(command: str) -> str:
    return f"\x1b[32m❯\x1b[0m \x1b[1m{command}\x1b[0m"


def run(command: str, columns: int, settings: Mapping[str, str], *, errors: bool = False) -> str:
    """What the program writes to a terminal of this width; with `errors`, followed by its stderr."""
    reader, writer = pty.openpty()
    ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        **settings,
    }
    with tempfile.TemporaryFile() as told:
        program = subprocess.Popen(
            ["sh", "-c", command],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=told,
        )
        os.close(writer)
        written = b"".join(iter(lambda: _read(reader), b""))
        os.close(reader)
        told.seek(0)
        remarks = told.read()
    if program.wait():
        raise RuntimeError(f"{command} failed: {remarks.decode()}")
    return (written + remarks * errors).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the program has ended
        return b""


def picture(label: str, screen: str, columns: int) -> str:
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()), end="\n\n")  # a margin: the last line would be cut off
    console.file.close()
    svg = console.export_svg(title=label, theme=THEME, code_format=FRAME, unique_id="screen")
    return (
        svg.replace("__LABEL__", label)
        .replace("&#160;", " ")
        .replace("<text ", '<text xml:space="preserve" ')
    )
