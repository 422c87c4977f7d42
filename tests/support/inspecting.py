"""`agent inspect` as a person starts it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from program import clean_environment


class Inspecting(NamedTuple):
    """A running inspector."""

    address: str
    """With the token."""

    @property
    def root(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token(self) -> str:
        return urlsplit(self.address).query.partition("=")[2]


@contextmanager
def inspecting(
    home: Path, folder: Path, *options: str, selection: str | None = "all-untrusted"
) -> Iterator[Inspecting]:
    """Start the real program on a free port and end it by its process id; `selection` is AGENT_SKILLS."""
    environment = {} if selection is None else {"AGENT_SKILLS": selection}
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]
    process = subprocess.Popen(
        [*command, "inspect", "--no-open", *options, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=clean_environment(home, **environment),
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.communicate(timeout=10)
        yield Inspecting(address)
    finally:
        process.terminate()
        _, complaints = process.communicate(timeout=30)
        assert "ERROR" not in complaints, complaints
