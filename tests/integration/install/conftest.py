"""An installer, its home, a repository to install from, and a person who is asked."""

from installing import home, installer, person, repository

__all__ = ["home", "installer", "person", "repository"]
