"""What the registry refuses, with the status that every dialect answers it with."""

from collections.abc import Sequence

from skillkit.core.exceptions import SkillsUseError


class RegistryServerError(SkillsUseError):
    """A request that the registry cannot fulfil."""

    status = 400


class MissingError(RegistryServerError):
    """There is no such thing, or none that this caller may see: the two are never told apart."""

    status = 404

    def __init__(self, message: str = "Not found") -> None:
        super().__init__(message)


class BlockedError(RegistryServerError):
    """The version was blocked; the message is the reviewer's reason."""

    status = 410


class ConflictError(RegistryServerError):
    """The number is taken by other bytes, or the state does not allow the change."""

    status = 409


class AmbiguousError(ConflictError):
    """Several owners have a skill of that name; `matches` are owner and skill."""

    def __init__(self, matches: Sequence[tuple[str, str]]) -> None:
        super().__init__("More than one owner has a skill of this name: " + ", ".join(map("/".join, matches)))
        self.matches = tuple(matches)


class RejectedError(RegistryServerError):
    """The upload breaks a rule; nothing of it was kept."""

    status = 422

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class ForbiddenError(RegistryServerError):
    """The token does not allow this."""

    status = 403


class UnauthorizedError(RegistryServerError):
    """A valid token is needed."""

    status = 401


class TooLargeError(RegistryServerError):
    """The request has more bytes than are read."""

    status = 413


class TooManyError(RegistryServerError):
    """The caller's limit for a minute is used up; `seconds` until the next try."""

    status = 429

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many requests; try again in {seconds} seconds")
        self.seconds = seconds
