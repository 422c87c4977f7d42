"""Gemini, through the framework's own client."""

import os
from dataclasses import dataclass

from skillkit.agent.models.provider import ChatClient, key_of, missing_key, missing_package
from skillkit.agent.settings import NO_SETTINGS, ProviderSettings

DEFAULT_MODEL = "gemini-2.5-flash"
KEY = "GEMINI_API_KEY"


@dataclass(frozen=True, slots=True)
class GeminiProvider:
    """Generated content with a key."""

    settings: ProviderSettings = NO_SETTINGS
    name: str = "gemini"

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("GEMINI_MODEL") or DEFAULT_MODEL

    def problem(self) -> str | None:
        return missing_key(self.name, self.settings, KEY) or missing_package(
            self.name, "agent_framework_gemini", "gemini"
        )

    def client(self) -> ChatClient:
        from agent_framework.gemini import GeminiChatClient

        return GeminiChatClient(api_key=key_of(self.settings, KEY), model=self.model)
