"""The interface of a model provider: name, availability, chat client."""

import importlib.util
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from skillkit.agent.exceptions import ProviderError
from skillkit.agent.settings import NO_SETTINGS, ProviderSettings
from skillkit.core.extras import pip_install

if TYPE_CHECKING:
    from agent_framework import ChatResponse

ChatClient = Any
"""A `SupportsChatGetResponse` of Agent Framework; its type parameters differ by provider."""

RequestOptions = Mapping[str, Any]
NO_OPTIONS: RequestOptions = MappingProxyType({})

UNAIDED = "skillkit.unaided"
"""A property of the last update of an answer that the embedded model gave without a tool call."""
TIMEOUT = 120.0
CONNECT_TIMEOUT = 10.0

Advance = Callable[[int, int], object]
"""Called with the number of downloaded and of total bytes."""
Report = Callable[[str], object]


class ChatProvider(ABC):
    """A way to reach a model. Construction is cheap and imports nothing; `client` does the work."""

    name: ClassVar[str]
    key: ClassVar[str | None] = None
    """The environment variable that usually holds the key; None for a provider without one."""
    address_variable: ClassVar[str | None] = None
    """The environment variable that overrides the address of the service."""
    model_variable: ClassVar[str | None] = None
    """The environment variable that names the model, unless the settings do."""
    default_model: ClassVar[str] = ""
    options: ClassVar[RequestOptions] = NO_OPTIONS
    """Options of every request besides messages and tools."""
    embedded: ClassVar[bool] = False
    """Whether the client is the embedded model's, which is offered only the tools of the skills of a turn."""
    in_process: ClassVar[bool] = False
    """Whether the model runs in this process, without a service."""
    marks_end: ClassVar[bool] = False
    """Whether the client reports a finish reason, so that an answer without one was truncated."""
    context: ClassVar[int] = 128_000
    """The usual context window of its models, in tokens."""

    def __init__(self, settings: ProviderSettings = NO_SETTINGS) -> None:
        self.settings = settings

    @property
    def model(self) -> str:
        """The model that receives the requests."""
        variable = self.model_variable
        return self.settings.model or (os.environ.get(variable) if variable else None) or self.default_model

    @abstractmethod
    def problem(self) -> str | None:
        """Return why the provider is unavailable, with a remedy; None if available."""

    @abstractmethod
    def client(self) -> ChatClient:
        """Return a chat client of the framework."""

    async def close(self, client: ChatClient) -> None:
        """Close a client's connections; clients for OpenAI's protocol keep theirs as `client`."""
        connection = getattr(client, "client", None)
        if connection is not None:
            await connection.close()

    def refusal(self, response: "ChatResponse[Any]") -> str | None:
        """Return why a response has no answer, if the framework's client does not report it."""
        return None

    def effort_options(self, effort: str) -> RequestOptions:
        """Return the request options for the `effort` of a skill; empty if the model does not support it."""
        return {}

    def detected(self) -> bool:
        """Return whether the environment of this machine selects this provider, if the user has not."""
        return self.api_key is not None

    def reporting(self, advance: Advance, report: Report) -> "ChatProvider":
        """Return a copy that reports download progress."""
        return self

    def download(self) -> str | None:
        """Return the pending download, with size and origin; None if complete."""
        return None

    def fetch(self) -> None:  # noqa: B027  # most providers have nothing to download
        """Download the files named by `download`."""

    @property
    def address(self) -> str | None:
        """The configured address of the service, if any."""
        variable = self.address_variable
        return self.settings.base_url or (os.environ.get(variable) if variable else None) or None

    @property
    def shown_address(self) -> str:
        """The address as ` at ADDRESS` for messages, without a password; empty for the default."""
        return f" at {re.sub('//[^/@]*@', '//', self.address)}" if self.address else ""

    @property
    def timeout(self) -> float:
        """Timeout in seconds without received data."""
        return self.settings.timeout or TIMEOUT

    @property
    def context_tokens(self) -> int:
        """The context window of the model, in tokens."""
        return self.settings.context or self.context

    @property
    def key_variable(self) -> str | None:
        """The environment variable of the key: from the settings, or the default."""
        return self.settings.api_key_env or self.key

    @property
    def api_key(self) -> str | None:
        variable = self.key_variable
        return (os.environ.get(variable) or None) if variable else None

    def missing_key(self) -> str | None:
        if self.key is None or self.api_key is not None:
            return None
        return f"The provider '{self.name}' needs a key: export {self.key_variable}=…"

    def missing_package(self, module: str, extra: str) -> str | None:
        """Return the install command if `module` is missing."""
        if importlib.util.find_spec(module) is not None:
            return None
        return f"The provider '{self.name}' needs a package: {pip_install(extra)}"


def ready(provider: ChatProvider) -> ChatProvider:
    """Return the provider; raises an error with the reason if it is unavailable."""
    problem = provider.problem()
    if problem is not None:
        raise ProviderError(problem)
    return provider
