"""Gemini, through the framework's own client."""

from typing import TYPE_CHECKING, Any, ClassVar

from skillkit.agent.models.provider import ChatClient, ChatProvider

if TYPE_CHECKING:
    from agent_framework import ChatResponse

ATTEMPTS = 3
"""Attempts for each request, as many as the other SDKs make by default."""


class GeminiProvider(ChatProvider):
    """The Gemini API with a key; `base_url` or GOOGLE_GEMINI_BASE_URL overrides the address."""

    name: ClassVar[str] = "gemini"
    key: ClassVar[str | None] = "GEMINI_API_KEY"
    address_variable: ClassVar[str | None] = "GOOGLE_GEMINI_BASE_URL"
    model_variable: ClassVar[str | None] = "GEMINI_MODEL"
    default_model: ClassVar[str] = "gemini-2.5-flash"
    marks_end: ClassVar[bool] = True

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
        client: ChatClient = GeminiChatClient(model=self.model, client=connection)
        client.connection = connection  # closed together with the client
        return client

    def refusal(self, response: "ChatResponse[Any]") -> str | None:
        """Return why a safety filter blocked the request; such a response has no candidate."""
        raw = response.raw_representation
        for part in raw if isinstance(raw, list) else [raw]:
            feedback = getattr(part, "prompt_feedback", None)
            if feedback is not None and feedback.block_reason is not None:
                reason = getattr(feedback.block_reason, "name", feedback.block_reason)
                return f"the provider's filter stopped the request ({reason}). Rephrase it"
        return None

    async def close(self, client: ChatClient) -> None:
        await client.connection.aio.aclose()
