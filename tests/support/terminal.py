"""The real program in a pseudo-terminal, driven as a person would."""

import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Mapping
from fcntl import ioctl
from pathlib import Path
from typing import Any, Self

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")
_TAKES_KEYS = "\x1b[?2004h"  # what the chat's prompt begins with
PATIENCE = 300
CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    """One run of `agent`, or of a shell's line; `expect` waits for text, `type` answers it."""

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        environment: Mapping[str, str],
        columns: int = 80,
        shell: str | None = None,
        patience: float = PATIENCE,
    ) -> None:
        command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()", *arguments]
        if shell is not None:
            command = ["/bin/bash", "-c", shell]
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(command[0], command, dict(environment))
        ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self.patience = patience
        self.raw = ""
        self._read_to = 0
        self._prompts = 0

    @property
    def text(self) -> str:
        """What is on the screen, without colours and cursor movements."""
        return _CONTROL.sub("", self.raw)

    def expect(self, text: str) -> Self:
        deadline = time.monotonic() + self.patience
        while text not in self.text[self._read_to :]:
            if not self._more(deadline):
                raise AssertionError(f"{text!r} did not come; the screen shows:\n{self.text}")
        self._read_to = self.text.index(text, self._read_to) + len(text)
        return self

    def type(self, line: str) -> Self:
        os.write(self._terminal, f"{line}\n".encode())
        return self

    def at_prompt(self) -> Self:
        """Wait until the chat takes keys again."""
        self._prompts += 1
        deadline = time.monotonic() + self.patience
        while self.raw.count(_TAKES_KEYS) < self._prompts:
            if not self._more(deadline):
                raise AssertionError(f"no prompt came; the screen shows:\n{self.text}")
        return self

    def press(self, keys: str) -> Self:
        os.write(self._terminal, keys.encode())
        return self

    def end(self) -> int:
        """Wait for the program to end; its exit code."""
        deadline = time.monotonic() + self.patience
        while self._more(deadline):
            pass
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"nothing happens; the screen shows:\n{self.text}")
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # Linux says so when the other side is closed
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)


def start(*arguments: str, **more: Any) -> Terminal:
    """The program at a terminal of its own, here and with the variables of the test."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return Terminal(*arguments, cwd=Path.cwd(), environment={**environment, "TERM": "xterm"}, **more)
