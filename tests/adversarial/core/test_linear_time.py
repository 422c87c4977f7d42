"""What comes from outside costs time linear in its length: a million of anything is read to its end."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import h11
import pytest

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.file_sharing import is_shared
from skillkit.core.header import split
from skillkit.core.names import canonical_name, refusal
from skillkit.core.path_resolver import safe_parts
from skillkit.evaluation.behaviour.graders import _fenced
from skillkit.install.exceptions import InstallError
from skillkit.install.sources.source import checked_path
from skillkit.journal.sensitive import Secrets

pytestmark = pytest.mark.slow


def head(size: int) -> None:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=64 << 10)
    try:
        connection.receive_data(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * size + b"\r\n")
        connection.next_event()
    except h11.RemoteProtocolError:
        return


COSTS: dict[str, Callable[[int], object]] = {
    "a path of dots": lambda size: safe_parts("./" * size + "x", Path("/")),
    "a path of folders": lambda size: safe_parts("a/" * size + "x", Path("/")),
    "a path of parents": lambda size: safe_parts("a/../" * size + "x", Path("/"), allow_parent=True),
    "a path in a source": lambda size: checked_path("a/" * size),
    "a path and a mount": lambda size: is_shared(
        Path("/"), "./" * size, Path("/").stat(), frozenset({b"a", b"b/c"})
    ),
    "a name of joints": lambda size: canonical_name("a_ -" * size),
    "a name": lambda size: refusal("ä\u202e" * size),
    "a header of lines": lambda size: split(b"---\n" + b"\n" * size + b"---\n"),
    "a head of HTTP": head,
    "fences": lambda size: _fenced("```json\n" * size),
    "a log line": lambda size: Secrets((('\\"' * 8, "[A]"),)).masked('\\"' * size),
    "a log line of secrets": lambda size: Secrets((('pä"ss-word-123', "[A]"),)).masked(
        json.dumps('pä"ss-word-123') * (size // 20) + "\\" * size
    ),
}


@pytest.mark.parametrize("name", COSTS)
def test_a_million_of_anything_comes_to_an_end(name: str) -> None:
    """In a second or two. What is quadratic takes hours, so nobody need compare times."""
    with contextlib.suppress(SkillsUseError, InstallError):
        COSTS[name](1_000_000)
