"""Keys that were pressed before there was a question."""

import sys
from contextlib import suppress


def discard_typed_ahead() -> None:
    """Forget what was typed so far: it was not meant for a question that is only now asked."""
    try:
        import termios
    except ImportError:  # no terminal of this kind
        return
    with suppress(termios.error, ValueError, OSError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
