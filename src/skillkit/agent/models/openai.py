"""OpenAI, and every service that speaks its protocol."""

import os
from dataclasses import dataclass
from typing import ClassVar

from skillkit.agent.models.provider import ChatClient, ChatProvider

DEFAULT_MODEL = "gpt-5-mini"
KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class OpenAIProvider(ChatProvider):
    """Chat completions with a key; `base_url` or OPENAI_BASE_URL names another service."""

    name: ClassVar[str] = "openai"
    key: ClassVar[str | None] = KEY

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL

    def problem(self) -> str | None:
        return self.missing_key() or self.missing_package("agent_framework_openai", "skillkit[openai]")

    def client(self) -> ChatClient:
        return completions_client(
            self.model,
            api_key=self.api_key,
            base_url=self.settings.base_url or os.environ.get("OPENAI_BASE_URL"),
        )


def completions_client(model: str, *, api_key: str | None, base_url: str | None) -> ChatClient:
    """Return the framework's client for chat completions."""
    from agent_framework.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(model, api_key=api_key, base_url=base_url)
