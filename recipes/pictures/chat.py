"""The chat in a real terminal (tmux) of two widths; only what the model says is scripted."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from recipes.pictures.sessions import CHAT, ROOT, WIDTHS

LINES = 21
PATIENCE = 120.0
ANSWER = """\
The greeting is **¡Hola, Marta!**

| language | greeting |
|---|---|
| Spanish | ¡Hola, Marta! |
| French | Bonjour, Marta ! |

Say it with a smile; `list_languages` knows twelve more languages."""


def record_chat() -> None:
    """Ask one question in a terminal of each width, and keep what is on the screen."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from openai_server import CallTool, OpenAIServer, Say

    for columns in WIDTHS:
        with OpenAIServer() as server:
            server.replies = [
                CallTool("greet_in_language", {"name": "Marta", "language": "es"}),
                Say(ANSWER),
            ]
            CHAT[columns].write_text(_screen(columns, server.url), encoding="utf-8")


def _screen(columns: int, url: str) -> str:
    with tempfile.TemporaryDirectory() as home:
        settings = {
            "HOME": home,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "AGENT_SKILLS": "all",
            "OPENAI_API_KEY": "scripted",
            "OPENAI_BASE_URL": url,
        }
        program = shlex.join(["env", "-i", *(f"{name}={value}" for name, value in settings.items()), "agent"])
        socket = f"{home}/tmux"

        def tmux(*arguments: str) -> str:
            done = subprocess.run(
                ["tmux", "-S", socket, *arguments], capture_output=True, text=True, check=True
            )
            return done.stdout

        def wait_for(shown: Callable[[str], bool]) -> None:
            end = time.monotonic() + PATIENCE
            while not shown(tmux("capture-pane", "-p")):
                if time.monotonic() > end:
                    raise TimeoutError(tmux("capture-pane", "-p"))
                time.sleep(0.1)

        tmux("new-session", "-d", "-x", str(columns), "-y", str(LINES), "-c", home, program)
        try:
            wait_for(lambda screen: "Ctrl-D" in screen and ">" in screen)
            tmux("send-keys", "Greet Marta in Spanish", "Enter")
            wait_for(lambda screen: "more languages" in " ".join(screen.split()))
            time.sleep(0.5)
            return tmux("capture-pane", "-p", "-e").rstrip() + "\n"
        finally:
            tmux("kill-server")
