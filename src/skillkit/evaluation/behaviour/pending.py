"""Requests that were sent and have no recorded answer: after a kill nobody sends them twice unasked."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillkit.core.disk import sync_folder
from skillkit.core.exceptions import ConfigurationError


class UnknownOutcomeError(ConfigurationError):
    """A request was under way when an earlier test was killed: what came of it is not known."""


class PendingRequest:
    """A mark on disk, there from before a model is asked until its answer is recorded."""

    def __init__(self, mark: Path, asked: str) -> None:
        self.mark = mark
        self.asked = asked
        """Who is asked, for people."""
        self._begun = False

    def check(self) -> None:
        """Raise where an earlier test left its mark."""
        if not self._begun and self.mark.exists():
            raise UnknownOutcomeError(
                f"{self.asked} was at work on this when an earlier test ended: "
                "its answer is not known, and nobody said to ask again"
            )

    def begin(self) -> None:
        """Leave the mark before the model is asked."""
        self.check()
        self._begun = True
        self.mark.parent.mkdir(parents=True, exist_ok=True)
        with open(self.mark, "w", encoding="utf-8") as file:
            file.write(json.dumps({"begun": self.asked}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.mark.parent)

    def end(self) -> None:
        """Whoever recorded the answer says so."""
        self.mark.unlink(missing_ok=True)

    @contextmanager
    def given_up_on_errors(self) -> Iterator[None]:
        """What ends by an error or by Ctrl-C has no answer to wait for, and may be asked again."""
        try:
            yield
        except BaseException:
            self.end()
            raise
