"""Sent requests without a recorded response, so that a killed test repeats none without consent."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillkit.core.disk import sync_folder
from skillkit.core.exceptions import ConfigurationError


class UnknownOutcomeError(ConfigurationError, code="unknown-outcome"):
    """A request was pending when an earlier test was killed; its outcome is unknown."""


class PendingRequest:
    """A marker on disk, written before a model request and removed after its response is recorded."""

    def __init__(self, mark: Path, asked: str) -> None:
        self.mark = mark
        self.asked = asked
        """Name of the model or program, for messages."""
        self._begun = False

    def check(self) -> None:
        """Raise if an earlier test left its marker."""
        if not self._begun and self.mark.exists():
            raise UnknownOutcomeError(
                f"An earlier test ended while {self.asked} was answering. The request may have been "
                "sent and is not repeated unless asked to"
            )

    def begin(self) -> None:
        """Write the marker before the model request."""
        self.check()
        self._begun = True
        self.mark.parent.mkdir(parents=True, exist_ok=True)
        with open(self.mark, "w", encoding="utf-8") as file:
            file.write(json.dumps({"begun": self.asked}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.mark.parent)

    def end(self) -> None:
        """Remove the marker after the response is recorded."""
        self.mark.unlink(missing_ok=True)

    @contextmanager
    def given_up_on_errors(self) -> Iterator[None]:
        """Remove the marker on an error or Ctrl-C: no response is pending, and the request may be
        repeated."""
        try:
            yield
        except BaseException:
            self.end()
            raise
