"""Skills with scripts on disk, and the three calls over them."""

from workshop import backend, confining, shared_home, time_is_up, workshop

__all__ = ["backend", "confining", "shared_home", "time_is_up", "workshop"]
