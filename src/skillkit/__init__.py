"""skillkit: Agent Skills for any Python agent, disclosed progressively."""

__version__ = "0.5.0"
