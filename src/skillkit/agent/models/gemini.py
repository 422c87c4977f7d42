"""Gemini, through the framework's own client."""

import os
from typing import TYPE_CHECKING, Any, ClassVar

from skillkit.agent.models.provider import ChatClient, ChatProvider

if TYPE_CHECKING:
    from agent_framework import ChatResponse

DEFAULT_MODEL = "gemini-2.5-flash"
ADDRESS = "GOOGLE_GEMINI_BASE_URL"
KEY = "GEMINI_API_KEY"
ATTEMPTS = 3
"""Of a request, as the other SDKs make without being told."""


class GeminiProvider(ChatProvider):
    """Generated content with a key; `base_url` or GOOGLE_GEMINI_BASE_URL names another address."""

    name: ClassVar[str] = "gemini"
    key: ClassVar[str | None] = KEY
    address_variable: ClassVar[str | None] = ADDRESS
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("GEMINI_MODEL") or DEFAULT_MODEL

    def problem(self) -> str | None:
        return self.missing_key() or self.missing_package("agent_framework_gemini", "gemini")

    def client(self) -> ChatClient:
        from agent_framework.gemini import GeminiChatClient
        from google import genai

        connection = genai.Client(
            api_key=self.api_key,
            vertexai=False,
            http_options=genai.types.HttpOptions(
                base_url=self.address,
                timeout=int(self.timeout * 1000),
                retry_options=genai.types.HttpRetryOptions(attempts=ATTEMPTS, initial_delay=0.5),
            ),
        )
        return GeminiChatClient(model=self.model, client=connection)

    def refusal(self, response: "ChatResponse[Any]") -> str | None:
        """The service does not answer a request that its filter stopped: it has no candidate then."""
        raw = response.raw_representation
        for part in raw if isinstance(raw, list) else [raw]:
            feedback = getattr(part, "prompt_feedback", None)
            if feedback is not None and feedback.block_reason is not None:
                reason = getattr(feedback.block_reason, "name", feedback.block_reason)
                return f"the provider's filter stopped the request ({reason}). Say it in other words"
        return None

    async def close(self, client: ChatClient) -> None:
        await client._genai_client.aio.aclose()
