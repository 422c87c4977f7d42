"""OpenAI and compatible services: Azure, Ollama, self-hosted servers."""

import json
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


class OpenAIProvider(ChatProvider):
    """Chat completions with a key; `base_url` or OPENAI_BASE_URL overrides the address."""

    name: ClassVar[str] = "openai"
    key: ClassVar[str | None] = "OPENAI_API_KEY"
    address_variable: ClassVar[str | None] = "OPENAI_BASE_URL"
    model_variable: ClassVar[str | None] = "OPENAI_MODEL"
    default_model: ClassVar[str] = "gpt-5-mini"
    marks_end: ClassVar[bool] = True

    def effort_options(self, effort: str) -> RequestOptions:
        reasons = self.model.startswith(("gpt-5", "o1", "o3", "o4"))
        return {"reasoning_effort": "high" if effort in ("xhigh", "max") else effort} if reasons else {}

    @property
    def api_key(self) -> str | None:
        """Return the key; self-hosted servers need none, but the SDK requires a value."""
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
    """Return an SDK connection that times out after `seconds` without data, and retries requests that a busy
    service refused."""
    from openai import Timeout

    limits = Timeout(seconds, connect=min(CONNECT_TIMEOUT, seconds))
    return connection.with_options(timeout=limits)


class AzureProvider(ChatProvider):
    """An Azure deployment with a key; the model's name is the deployment's."""

    name: ClassVar[str] = "azure"
    key: ClassVar[str | None] = "AZURE_OPENAI_API_KEY"
    address_variable: ClassVar[str | None] = "AZURE_OPENAI_ENDPOINT"
    model_variable: ClassVar[str | None] = "AZURE_OPENAI_DEPLOYMENT_NAME"
    marks_end: ClassVar[bool] = True

    def problem(self) -> str | None:
        missing = self.missing_key()
        if missing is None and not self.address:
            missing = f"The provider 'azure' needs an endpoint: export {self.address_variable}=…"
        if missing is None and not self.model:
            missing = f"The provider 'azure' needs a deployment: export {self.model_variable}=…"
        return missing or self.missing_package("agent_framework_openai", "azure")

    def client(self) -> ChatClient:
        from agent_framework.openai import OpenAIChatCompletionClient

        client = OpenAIChatCompletionClient(self.model, api_key=self.api_key, azure_endpoint=self.address)
        client.client = with_timeout(client.client, self.timeout)
        return client


SECONDS = 0.5
"""Timeout in seconds for listing the models of a running Ollama."""


class OllamaProvider(ChatProvider):
    """Any model installed in Ollama; by default the first it lists."""

    name: ClassVar[str] = "ollama"
    address_variable: ClassVar[str | None] = "OLLAMA_HOST"
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or next(iter(self.models() or ()), "")

    def models(self) -> list[str] | None:
        """Return the models installed in Ollama; None if it is unreachable."""
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
