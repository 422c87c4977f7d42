"""Errors of disclosure that the core has no name for."""

from skillkit.core.exceptions import SkillsUseError


class SessionDataError(SkillsUseError):
    """Saved session data cannot be restored."""


class SkillRefusedError(SkillsUseError):
    """A skill is not handed out now; the code is what a tool answers."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        """`not_found`, `disabled`, `untrusted`, `unavailable`, `read_error` or `too_large`."""
