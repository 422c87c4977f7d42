"""No sandbox: the script runs within limits, but nothing confines it. Only for what the user allowed."""

import sys

from skillkit.scripts.sandbox.backend import Confinement, GroupRunning, Running, hand_over
from skillkit.scripts.sandbox.supervised import SupervisedRunning, WithoutMounts


class Unconfined(WithoutMounts):
    """Execution with a clean environment, limits and a supervised end."""

    name = "none"
    confines = False

    def missing(self) -> str | None:
        return None

    def identity(self) -> str:
        return ""

    def start(self, confinement: Confinement, work: str) -> Running:
        if sys.platform != "linux":
            return GroupRunning.start(list(confinement.command), confinement, work)
        user = hand_over(work, confinement)
        return SupervisedRunning.start(confinement, work, user=user, limit_processes=user is not None)
