"""Claude, through the framework's own client."""

import os
from dataclasses import dataclass

from skillkit.agent.models.provider import ChatClient, RequestOptions, key_of, missing_key, missing_package
from skillkit.agent.settings import NO_SETTINGS, ProviderSettings

DEFAULT_MODEL = "claude-sonnet-4-5"
KEY = "ANTHROPIC_API_KEY"
MOST_TOKENS = 8192
"""Of an answer: the service wants to be told, and the client's own 1,024 cut answers short."""


@dataclass(frozen=True, slots=True)
class AnthropicProvider:
    """Messages with a key; `base_url` or ANTHROPIC_BASE_URL names another address."""

    settings: ProviderSettings = NO_SETTINGS
    name: str = "anthropic"

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("ANTHROPIC_MODEL") or DEFAULT_MODEL

    @property
    def options(self) -> RequestOptions:
        return {"max_tokens": MOST_TOKENS}

    def problem(self) -> str | None:
        return missing_key(self.name, self.settings, KEY) or missing_package(
            self.name, "agent_framework_anthropic", "agent-anthropic"
        )

    def client(self) -> ChatClient:
        from agent_framework.anthropic import AnthropicClient

        return AnthropicClient(
            api_key=key_of(self.settings, KEY), model=self.model, base_url=self.settings.base_url
        )
