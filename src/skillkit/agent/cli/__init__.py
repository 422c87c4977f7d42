"""The `agent` command line."""

import gc
import sys
import warnings

from skillkit.core.extras import pip_install


def main() -> None:
    """Run the program and leave with its exit code."""
    # What a command makes at first, modules and skills, lives to its end: looking through it for garbage
    # every 700 objects is a tenth of the time that `agent skill list` takes.
    gc.set_threshold(50_000)
    if not sys.warnoptions:  # what libraries say to programmers, unless PYTHONWARNINGS asks for it
        warnings.simplefilter("ignore")
    try:
        from skillkit.agent.cli.app import app
        from skillkit.agent.cli.outcome import run

        code = run(app, sys.argv[1:])
    except ModuleNotFoundError as error:
        if error.name not in ("agent_framework", "prompt_toolkit", "rich", "typer"):
            raise
        sys.stderr.write(
            f"The agent program needs {error.name}, which is not installed. "
            f"Install it with: {pip_install('agent')}\n"
        )
        code = 1
    gc.freeze()  # at the end the interpreter would search all modules for garbage, for 0.2 s
    sys.exit(code)
