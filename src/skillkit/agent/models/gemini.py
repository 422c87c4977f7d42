"""Gemini, through the framework's own client."""

import os
from typing import ClassVar

from skillkit.agent.models.provider import ChatClient, ChatProvider

DEFAULT_MODEL = "gemini-2.5-flash"
KEY = "GEMINI_API_KEY"


class GeminiProvider(ChatProvider):
    """Generated content with a key; `base_url` or GOOGLE_GEMINI_BASE_URL names another address."""

    name: ClassVar[str] = "gemini"
    key: ClassVar[str | None] = KEY
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("GEMINI_MODEL") or DEFAULT_MODEL

    def problem(self) -> str | None:
        return self.missing_key() or self.missing_package("agent_framework_gemini", "skillkit[gemini]")

    def client(self) -> ChatClient:
        from agent_framework.gemini import GeminiChatClient
        from google import genai

        connection = genai.Client(
            api_key=self.api_key,
            vertexai=False,
            http_options=genai.types.HttpOptions(
                base_url=self.settings.base_url, timeout=int(self.timeout * 1000)
            ),
        )
        return GeminiChatClient(model=self.model, client=connection)

    async def close(self, client: ChatClient) -> None:
        await client._genai_client.aio.aclose()
