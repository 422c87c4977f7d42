"""Errors specific to disclosure."""

from skillkit.core.exceptions import SkillsUseError


class SessionDataError(SkillsUseError, code="session-data"):
    """Saved session data cannot be restored."""


class SkillRefusedError(SkillsUseError, code="skill-refused"):
    """Raised when a skill is refused; `code` is the error code of the tool result."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        """`not_found`, `disabled`, `untrusted`, `unavailable`, `read_error` or `too_large`."""
