"""A manager of the folder that a test fills."""

from discovered import manager

__all__ = ["manager"]
