"""Claude, through the framework's own client."""

import os
from typing import ClassVar

from skillkit.agent.models.provider import ChatClient, ChatProvider, RequestOptions

DEFAULT_MODEL = "claude-sonnet-4-5"
ADDRESS = "ANTHROPIC_BASE_URL"
KEY = "ANTHROPIC_API_KEY"
MOST_TOKENS = 8192
"""Of an answer: the service wants to be told, and the client's own 1,024 cut answers short."""


class AnthropicProvider(ChatProvider):
    """Messages with a key; `base_url` or ANTHROPIC_BASE_URL names another address."""

    name: ClassVar[str] = "anthropic"
    key: ClassVar[str | None] = KEY
    address_variable: ClassVar[str | None] = ADDRESS
    marks_end: ClassVar[bool] = True
    options: ClassVar[RequestOptions] = {"max_tokens": MOST_TOKENS}

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("ANTHROPIC_MODEL") or DEFAULT_MODEL

    def problem(self) -> str | None:
        return self.missing_key() or self.missing_package("agent_framework_anthropic", "agent-anthropic")

    def client(self) -> ChatClient:
        from agent_framework.anthropic import AnthropicClient

        client = AnthropicClient(api_key=self.api_key, model=self.model, base_url=self.address)
        client.anthropic_client = client.anthropic_client.with_options(timeout=self.timeout)
        return client

    async def close(self, client: ChatClient) -> None:
        await client.anthropic_client.close()
