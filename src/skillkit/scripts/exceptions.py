"""Errors of a script's request, packages and grants."""

from skillkit.core.exceptions import SkillsUseError


class DependencyError(SkillsUseError, code="dependency"):
    """A script's dependencies cannot be installed within the rules."""


class RefusedRunError(SkillsUseError, code="refused-run"):
    """The grants of a run cannot be enforced here, so nothing is started."""


class RefusedRequestError(SkillsUseError, code="refused-request"):
    """A call that cannot be run; `code` is the error code of the payload."""

    def __init__(self, code: str, message: str, cause: str = "", subject: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.cause = cause
        self.subject = subject


class CancelledError(SkillsUseError, code="cancelled"):
    """The caller cancelled the preparation."""
