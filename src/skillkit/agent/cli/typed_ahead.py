"""Keys that were pressed before there was a question: they never answer one."""

import sys
from contextlib import suppress


def discard_typed_ahead() -> None:
    """Forget what the terminal holds of them."""
    try:
        import termios
    except ImportError:  # no terminal of this kind
        return
    with suppress(termios.error, ValueError, OSError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
