"""Additions of this program to script results: a command that fixes a failure, the path of a file."""

import shlex
from collections.abc import Callable, Sequence

from skillkit.core.authority import Requester
from skillkit.core.text import escape_hidden
from skillkit.scripts.hints import MISSING_PACKAGE, MISSING_SECRET, OTHER_RELEASE, REFUSED_HOST, UNSEEN_FILE
from skillkit.scripts.models import OutputFile
from skillkit.scripts.outputs import OutputStore, StoredOutput

_COMMANDS = {
    MISSING_PACKAGE: "Accept or correct it with: agent skill packages {skill}",
    MISSING_SECRET: "Set it with: agent secret set {subject}",
    OTHER_RELEASE: "Take releases of an earlier day with: agent skill packages {skill} --before DATE",
    REFUSED_HOST: "Grant it with: agent config approve {skill} --host {subject}",
    UNSEEN_FILE: "Let them with: agent config approve {skill} --project .",
}

_NAMES = {MISSING_SECRET: "NAME", REFUSED_HOST: "HOST"}
"""Placeholder for an unknown subject in a command."""


def find_remedy(cause: str, skill: str, subject: str = "") -> str:
    """Return the command that fixes a failure with this cause; empty if there is none."""
    named = shlex.quote(subject) if subject else _NAMES.get(cause, "")
    return _COMMANDS.get(cause, "").format(skill=skill, subject=named)


class ReportedOutputs(OutputStore):
    """Reports the path of each file created by a script to the user."""

    def __init__(self, show: Callable[[str], object]) -> None:
        super().__init__()
        self._show = show

    def keep(self, files: Sequence[OutputFile], requester: Requester) -> list[StoredOutput]:
        kept = super().keep(files, requester)
        for each in kept:
            self._show(f"Made {escape_hidden(str(each.path))} ({len(each.file.content):,} bytes)")
        return kept
