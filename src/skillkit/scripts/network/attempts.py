"""Connection attempts of a script and their outcome."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

from skillkit.core.text import escape_hidden

MAX_KEPT = 1000
_MAX_NAME = 253


@dataclass(frozen=True, slots=True)
class Attempt:
    """One name look-up, or one connection."""

    host: str
    port: int | None
    """None for a name that was only looked up."""
    allowed: bool
    reason: str = ""
    """Reason for the refusal; for an allowed one, of the failure."""
    sent: int = 0
    received: int = 0

    @property
    def failed(self) -> bool:
        """Whether the host was granted and could not be reached."""
        return self.allowed and bool(self.reason)

    def to_data(self) -> dict[str, object]:
        """Return the attempt as JSON."""
        said: dict[str, object] = {"host": self.host, "port": self.port, "allowed": self.allowed}
        if self.failed:
            return {**said, "failed": True, "reason": self.reason}
        if self.reason:
            return {**said, "reason": self.reason}
        return {**said, "sent": self.sent, "received": self.received}


class AttemptLog:
    """The attempts of one run; the names in it are the script's bytes, so they are cut and escaped."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: list[Attempt] = []
        self._noted: set[tuple[str, int | None, str]] = set()

    def allow(self, host: str, port: int, sent: int, received: int) -> None:
        with self._lock:
            self._keep(Attempt(host, port, True, "", sent, received))

    def refuse(self, host: str, port: int | None, reason: str) -> None:
        """Record a refusal, once for each host, port and reason."""
        self._note(Attempt(escape_hidden(host)[:_MAX_NAME], port, False, reason))

    def fail(self, host: str, port: int, reason: str) -> None:
        """Record a failure to reach a granted host, once for each host, port and reason."""
        self._note(Attempt(host, port, True, reason))

    def _note(self, attempt: Attempt) -> None:
        key = (attempt.host, attempt.port, attempt.reason)
        with self._lock:
            if key not in self._noted and len(self._noted) < MAX_KEPT:
                self._noted.add(key)
                self._keep(attempt)

    def _keep(self, attempt: Attempt) -> None:
        if len(self._kept) < MAX_KEPT:
            self._kept.append(attempt)

    def __iter__(self) -> Iterator[Attempt]:
        with self._lock:
            return iter(tuple(self._kept))
