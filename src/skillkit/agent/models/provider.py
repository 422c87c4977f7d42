"""What every model provider is to the agent: a name, whether it can be used, and a chat client."""

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
"""A property of the last update of an answer that the embedded model gave without a tool."""
TIMEOUT = 120.0
CONNECT_TIMEOUT = 10.0

Advance = Callable[[int, int], object]
"""Called with the bytes that are there and the bytes there will be."""
Report = Callable[[str], object]


class ChatProvider(ABC):
    """One way to reach a model. Making one is cheap and imports nothing; `client` does the work."""

    name: ClassVar[str]
    key: ClassVar[str | None] = None
    """The environment variable that usually holds the key; None for a provider without one."""
    address_variable: ClassVar[str | None] = None
    """The environment variable that names another address of the service."""
    options: ClassVar[RequestOptions] = NO_OPTIONS
    """What every request says besides messages and tools."""
    embedded: ClassVar[bool] = False
    """Whether its client is the embedded model's, which is offered only the tools of the skills of a turn."""
    in_process: ClassVar[bool] = False
    """Whether the model runs in this process, and nobody else is asked."""
    marks_end: ClassVar[bool] = False
    """Whether its client says why an answer ended, so that one without a reason was cut."""
    context: ClassVar[int] = 128_000
    """The tokens that its models can usually read."""

    def __init__(self, settings: ProviderSettings = NO_SETTINGS) -> None:
        self.settings = settings

    @property
    @abstractmethod
    def model(self) -> str:
        """The model that requests go to."""

    @abstractmethod
    def problem(self) -> str | None:
        """Return why it cannot be used now and what to do about it; None when it can."""

    @abstractmethod
    def client(self) -> ChatClient:
        """Return a chat client of the framework."""

    async def close(self, client: ChatClient) -> None:
        """Let go of a client's connections; those for OpenAI's protocol keep theirs as `client`."""
        connection = getattr(client, "client", None)
        if connection is not None:
            await connection.close()

    def refusal(self, response: "ChatResponse[Any]") -> str | None:
        """Return why a response has no answer, where the framework's client does not hand that on."""
        return None

    def effort_options(self, effort: str) -> RequestOptions:
        """Return the options of a request for the `effort` that a skill asks for; none where the model has
        no such thing."""
        return {}

    def detected(self) -> bool:
        """Whether something on this machine says that it is meant, when nobody has chosen a provider."""
        return self.api_key is not None

    def reporting(self, advance: Advance, report: Report) -> "ChatProvider":
        """Return the provider that tells how far it is with what takes long before the first request."""
        return self

    def download(self) -> str | None:
        """Return what has to be downloaded before the first request: size and origin; None for nothing."""
        return None

    def fetch(self) -> None:  # noqa: B027  # most providers have nothing to download
        """Download what `download` names."""

    @property
    def address(self) -> str | None:
        """Where the service is, where somebody has said so."""
        variable = self.address_variable
        return self.settings.base_url or (os.environ.get(variable) if variable else None) or None

    @property
    def shown_address(self) -> str:
        """` at ADDRESS` for a message, without a password in it; nothing for the usual one."""
        return f" at {re.sub('//[^/@]*@', '//', self.address)}" if self.address else ""

    @property
    def timeout(self) -> float:
        """Seconds without a byte after which a request is given up."""
        return self.settings.timeout or TIMEOUT

    @property
    def context_tokens(self) -> int:
        """The tokens that the model can read."""
        return self.settings.context or self.context

    @property
    def key_variable(self) -> str | None:
        """The variable that holds the key: the one the settings name, or the usual one."""
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
        """Return what to install when `module` is not there."""
        if importlib.util.find_spec(module) is not None:
            return None
        return f"The provider '{self.name}' needs a package: {pip_install(extra)}"


def ready(provider: ChatProvider) -> ChatProvider:
    """The provider, or an error that says why not."""
    problem = provider.problem()
    if problem is not None:
        raise ProviderError(problem)
    return provider
