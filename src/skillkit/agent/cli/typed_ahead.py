"""Keys pressed before the program asked a question."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def discard_typed_ahead() -> None:
    """Discard input typed before the question was asked."""
    try:
        import termios
    except ImportError:  # no terminal of this kind
        return
    with suppress(termios.error, ValueError, OSError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def silent_keys() -> Iterator[None]:
    """Show no keys where an answer is being written, and keep them as they were pressed for the next prompt.

    The terminal would turn Enter into the key for a new line, and two lines would become one.
    """
    try:
        import termios
    except ImportError:  # no terminal of this kind
        yield
        return
    try:
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
    except (termios.error, ValueError, OSError):
        yield
        return
    quiet = list(before)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
