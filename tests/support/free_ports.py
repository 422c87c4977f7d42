"""Ports for servers that cannot be told to choose one themselves."""

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """A free port below those that `port 0` gives: nobody gets it before the server has started."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port
