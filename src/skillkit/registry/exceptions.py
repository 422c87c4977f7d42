"""Errors of the registry, with the HTTP status that every dialect uses."""

from collections.abc import Sequence

from skillkit.core.exceptions import SkillsUseError


class RegistryServerError(SkillsUseError, code="registry-server"):
    """A request that the registry cannot fulfil."""

    status = 400


class MissingError(RegistryServerError, code="missing"):
    """It does not exist, or this caller may not see it: the answers are the same."""

    status = 404

    def __init__(self, message: str = "Not found") -> None:
        super().__init__(message)


class BlockedError(RegistryServerError, code="blocked"):
    """The version was blocked; the message has the reviewer's reason."""

    status = 410


class ConflictError(RegistryServerError, code="conflict"):
    """The number belongs to other bytes, or the state does not allow the change."""

    status = 409


class AmbiguousError(ConflictError, code="ambiguous"):
    """Several owners have a skill of that name; `matches` are owner and skill."""

    def __init__(self, matches: Sequence[tuple[str, str]]) -> None:
        super().__init__("More than one owner has a skill of this name: " + ", ".join(map("/".join, matches)))
        self.matches = tuple(matches)


class RejectedError(RegistryServerError, code="rejected"):
    """The input breaks a rule; nothing of it was stored."""

    status = 422

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class ForbiddenError(RegistryServerError, code="forbidden"):
    """The token does not allow this."""

    status = 403


class UnauthorizedError(RegistryServerError, code="unauthorized"):
    """A valid token is needed."""

    status = 401


class TooLargeError(RegistryServerError, code="too-large"):
    """The request exceeds its size limit."""

    status = 413


class TooManyError(RegistryServerError, code="too-many"):
    """The rate limit is exceeded; retry after `seconds`."""

    status = 429

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many requests; try again in {seconds} seconds")
        self.seconds = seconds
