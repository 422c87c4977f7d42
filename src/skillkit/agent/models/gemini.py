"""Gemini, through the framework's own client."""

import os
from dataclasses import dataclass

from skillkit.agent.models.provider import ChatClient, RequestOptions, key_of, missing_key, missing_package
from skillkit.agent.settings import NO_SETTINGS, ProviderSettings

DEFAULT_MODEL = "gemini-2.5-flash"
KEY = "GEMINI_API_KEY"


@dataclass(frozen=True, slots=True)
class GeminiProvider:
    """Generated content with a key; `base_url` or GOOGLE_GEMINI_BASE_URL names another address."""

    settings: ProviderSettings = NO_SETTINGS
    name: str = "gemini"
    options: RequestOptions | None = None

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("GEMINI_MODEL") or DEFAULT_MODEL

    def problem(self) -> str | None:
        return missing_key(self.name, self.settings, KEY) or missing_package(
            self.name, "agent_framework_gemini", "gemini"
        )

    def client(self) -> ChatClient:
        from agent_framework.gemini import GeminiChatClient
        from google import genai

        connection = genai.Client(
            api_key=key_of(self.settings, KEY),
            vertexai=False,
            http_options=genai.types.HttpOptions(base_url=self.settings.base_url),
        )
        return GeminiChatClient(model=self.model, client=connection)
