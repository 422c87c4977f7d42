"""Errors of the agent program: each message is the single line shown to the user."""

from skillkit.core.exceptions import SkillsUseError


class AgentError(SkillsUseError):
    """Base class of errors of the agent."""


class ModelFileError(AgentError):
    """The embedded model's file is unavailable or invalid."""


class ProviderError(AgentError):
    """A model provider is unreachable or refused a request."""


class SettingsError(AgentError):
    """An unknown setting or an invalid value."""


class ConversationError(AgentError):
    """A saved conversation is missing or unreadable."""


class UnfinishedAnswerError(AgentError):
    """An incomplete answer; the received part has been shown already."""
