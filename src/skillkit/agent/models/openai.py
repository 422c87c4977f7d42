"""OpenAI, and every service that speaks its protocol: Azure, Ollama, servers of one's own."""

import json
import os
from typing import Any, ClassVar
from urllib.error import URLError
from urllib.request import urlopen

from skillkit.agent.models.provider import (
    CONNECT_TIMEOUT,
    TIMEOUT,
    ChatClient,
    ChatProvider,
    RequestOptions,
)

DEFAULT_MODEL = "gpt-5-mini"
ADDRESS = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"


class OpenAIProvider(ChatProvider):
    """Chat completions with a key; `base_url` or OPENAI_BASE_URL names another service."""

    name: ClassVar[str] = "openai"
    key: ClassVar[str | None] = KEY
    address_variable: ClassVar[str | None] = ADDRESS
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL

    def effort_options(self, effort: str) -> RequestOptions:
        reasons = self.model.startswith(("gpt-5", "o1", "o3", "o4"))
        return {"reasoning_effort": "high" if effort in ("xhigh", "max") else effort} if reasons else {}

    @property
    def api_key(self) -> str | None:
        """The key; servers of one's own need none, and the SDK insists on some text."""
        return super().api_key or ("none" if self.address else None)

    def problem(self) -> str | None:
        return self.missing_key() or self.missing_package("agent_framework_openai", "openai")

    def client(self) -> ChatClient:
        return completions_client(
            self.model,
            api_key=self.api_key,
            base_url=self.address,
            timeout=self.timeout,
        )


def completions_client(
    model: str, *, api_key: str | None, base_url: str | None, timeout: float = TIMEOUT
) -> ChatClient:
    """Return the framework's client for chat completions."""
    from agent_framework.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(model, api_key=api_key, base_url=base_url)
    client.client = with_timeout(client.client, timeout)
    return client


def with_timeout(connection: Any, seconds: float) -> Any:
    """Return an SDK's connection that gives up after so many seconds without a byte; it repeats what a busy
    service refused."""
    from openai import Timeout

    limits = Timeout(seconds, connect=min(CONNECT_TIMEOUT, seconds))
    return connection.with_options(timeout=limits)


AZURE_KEY = "AZURE_OPENAI_API_KEY"
ENDPOINT = "AZURE_OPENAI_ENDPOINT"
DEPLOYMENT = "AZURE_OPENAI_DEPLOYMENT_NAME"


class AzureProvider(ChatProvider):
    """A deployment with a key; the model's name is the deployment's."""

    name: ClassVar[str] = "azure"
    key: ClassVar[str | None] = AZURE_KEY
    address_variable: ClassVar[str | None] = ENDPOINT
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get(DEPLOYMENT) or ""

    def problem(self) -> str | None:
        missing = self.missing_key()
        if missing is None and not self.address:
            missing = f"The provider 'azure' needs an endpoint: export {ENDPOINT}=…"
        if missing is None and not self.model:
            missing = f"The provider 'azure' needs a deployment: export {DEPLOYMENT}=…"
        return missing or self.missing_package("agent_framework_openai", "azure")

    def client(self) -> ChatClient:
        from agent_framework.openai import OpenAIChatCompletionClient

        client = OpenAIChatCompletionClient(self.model, api_key=self.api_key, azure_endpoint=self.address)
        client.client = with_timeout(client.client, self.timeout)
        return client


OLLAMA_ADDRESS = "OLLAMA_HOST"
SECONDS = 0.5
"""That a running Ollama gets to say which models it has."""


class OllamaProvider(ChatProvider):
    """Any model that Ollama has; without a choice, the first one it lists."""

    name: ClassVar[str] = "ollama"
    address_variable: ClassVar[str | None] = OLLAMA_ADDRESS
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or next(iter(self.models() or ()), "")

    def models(self) -> list[str] | None:
        """Return the models that Ollama has; None when it cannot be reached."""
        try:
            with urlopen(f"{self.address}/api/tags", timeout=SECONDS) as response:
                return [str(entry["name"]) for entry in json.load(response)["models"]]
        except (URLError, OSError, ValueError, KeyError, TypeError):
            return None

    def problem(self) -> str | None:
        models = self.models()
        if models is None:
            return f"Ollama does not answer at {self.address}. Start it with: ollama serve"
        if not models and not self.settings.model:
            return "Ollama has no model. Fetch one with: ollama pull qwen3"
        return self.missing_package("agent_framework_openai", "ollama")

    def detected(self) -> bool:
        return self.problem() is None

    def client(self) -> ChatClient:
        address = f"{self.address}/v1"
        return completions_client(self.model, api_key="ollama", base_url=address, timeout=self.timeout)

    @property
    def address(self) -> str:
        address = super().address or "127.0.0.1:11434"
        if "://" not in address:
            address = f"http://{address}"
        return address.rstrip("/").removesuffix("/v1")
