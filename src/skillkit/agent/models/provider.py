"""What every model provider is to the agent: a name, whether it can be used, and a chat client."""

import importlib.util
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from skillkit.agent.exceptions import ProviderError
from skillkit.agent.settings import ProviderSettings

if TYPE_CHECKING:
    from agent_framework import SupportsChatGetResponse

ChatClient = Any
"""A `SupportsChatGetResponse` of Agent Framework; its type parameters differ by provider."""


RequestOptions = Mapping[str, Any]


class ChatProvider(Protocol):
    """One way to reach a model. Making one is cheap and imports nothing; `client` does the work."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str:
        """The model that requests go to."""

    @property
    def options(self) -> RequestOptions | None:
        """What every request says besides messages and tools."""

    def problem(self) -> str | None:
        """Why it cannot be used now and what to do about it; None when it can."""

    def client(self) -> "SupportsChatGetResponse[Any]":
        """A chat client of the framework."""


def key_of(settings: ProviderSettings, usual: str) -> str | None:
    """The key of a service, from the variable the settings name or the usual one."""
    return os.environ.get(settings.api_key_env or usual) or None


def missing_key(provider: str, settings: ProviderSettings, usual: str) -> str | None:
    if key_of(settings, usual) is not None:
        return None
    variable = settings.api_key_env or usual
    return f"The provider '{provider}' needs a key: export {variable}=…"


def missing_package(provider: str, module: str, extra: str) -> str | None:
    if importlib.util.find_spec(module) is not None:
        return None
    return f"The provider '{provider}' needs a package: pip install 'skillkit[{extra}]'"


def ready(provider: ChatProvider) -> ChatProvider:
    """The provider, or an error that says why not."""
    problem = provider.problem()
    if problem is not None:
        raise ProviderError(problem)
    return provider


async def disconnect(client: ChatClient) -> None:
    """Let go of a client's connections; each of the framework's clients keeps them by another name."""
    for name in ("client", "anthropic_client", "_genai_client"):
        connection = getattr(client, name, None)
        owner = getattr(connection, "aio", connection)
        close = getattr(owner, "aclose", None) or getattr(owner, "close", None)
        if close is not None:
            await close()
