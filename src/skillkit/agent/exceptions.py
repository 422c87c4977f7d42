"""Errors of the agent program: each message is the single line shown to the user."""

from skillkit.core.exceptions import SkillsUseError


class AgentError(SkillsUseError, code="agent"):
    """Base class of errors of the agent."""


class ModelFileError(AgentError, code="model-file"):
    """The embedded model's file is unavailable or invalid."""


class ProviderError(AgentError, code="provider"):
    """A model provider is unreachable or refused a request."""


class SettingsError(AgentError, code="settings"):
    """An unknown setting or an invalid value."""


class ConversationError(AgentError, code="conversation"):
    """A saved conversation is missing or unreadable."""


class UnfinishedAnswerError(AgentError, code="unfinished-answer"):
    """An incomplete answer; the received part has been shown already."""
