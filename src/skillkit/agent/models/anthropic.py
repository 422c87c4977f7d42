"""Claude, through the framework's own client."""

from typing import ClassVar

from skillkit.agent.models.provider import ChatClient, ChatProvider, RequestOptions

MOST_TOKENS = 8192
"""Token limit of an answer: the service requires one, and the client's default of 1,024 truncates answers."""


class AnthropicProvider(ChatProvider):
    """The Messages API with a key; `base_url` or ANTHROPIC_BASE_URL overrides the address."""

    name: ClassVar[str] = "anthropic"
    key: ClassVar[str | None] = "ANTHROPIC_API_KEY"
    address_variable: ClassVar[str | None] = "ANTHROPIC_BASE_URL"
    model_variable: ClassVar[str | None] = "ANTHROPIC_MODEL"
    default_model: ClassVar[str] = "claude-sonnet-4-5"
    marks_end: ClassVar[bool] = True
    options: ClassVar[RequestOptions] = {"max_tokens": MOST_TOKENS}

    def problem(self) -> str | None:
        return self.missing_key() or self.missing_package("agent_framework_anthropic", "agent-anthropic")

    def client(self) -> ChatClient:
        from agent_framework.anthropic import AnthropicClient

        client = AnthropicClient(api_key=self.api_key, model=self.model, base_url=self.address)
        client.anthropic_client = client.anthropic_client.with_options(timeout=self.timeout)
        return client

    async def close(self, client: ChatClient) -> None:
        await client.anthropic_client.close()
