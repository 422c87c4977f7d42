"""OpenAI, and every service that speaks its protocol."""

import os
from dataclasses import dataclass

from skillkit.agent.models.provider import ChatClient, RequestOptions, key_of, missing_key, missing_package
from skillkit.agent.settings import NO_SETTINGS, ProviderSettings

DEFAULT_MODEL = "gpt-5-mini"
KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class OpenAIProvider:
    """Chat completions with a key; `base_url` or OPENAI_BASE_URL names another service."""

    settings: ProviderSettings = NO_SETTINGS
    name: str = "openai"
    options: RequestOptions | None = None

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL

    def problem(self) -> str | None:
        return missing_key(self.name, self.settings, KEY) or missing_package(
            self.name, "agent_framework_openai", "openai"
        )

    def client(self) -> ChatClient:
        return completions_client(
            self.model,
            api_key=key_of(self.settings, KEY),
            base_url=self.settings.base_url or os.environ.get("OPENAI_BASE_URL"),
        )


def completions_client(model: str, *, api_key: str | None, base_url: str | None) -> ChatClient:
    """The framework's client for chat completions."""
    from agent_framework.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(model, api_key=api_key, base_url=base_url)
