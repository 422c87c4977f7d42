"""Errors of the agent program: each message is the one friendly line that the user reads."""

from skillkit.core.exceptions import SkillsUseError


class AgentError(SkillsUseError):
    """Something the agent could not do."""


class ModelFileError(AgentError):
    """The embedded model's file cannot be had, or is not what it should be."""


class ProviderError(AgentError):
    """A model provider refused or could not be reached."""


class SettingsError(AgentError):
    """A setting that does not exist or has no such value."""


class ConversationError(AgentError):
    """A saved conversation that does not exist or cannot be read."""


class UnfinishedAnswerError(AgentError):
    """An answer that is not whole; what came of it was handed out before."""
