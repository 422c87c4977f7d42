"""OpenAI, and every service that speaks its protocol."""

import os
from typing import Any, ClassVar

from skillkit.agent.models.provider import (
    CONNECT_TIMEOUT,
    TIMEOUT,
    ChatClient,
    ChatProvider,
    RequestOptions,
)

DEFAULT_MODEL = "gpt-5-mini"
ADDRESS = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"


class OpenAIProvider(ChatProvider):
    """Chat completions with a key; `base_url` or OPENAI_BASE_URL names another service."""

    name: ClassVar[str] = "openai"
    key: ClassVar[str | None] = KEY
    address_variable: ClassVar[str | None] = ADDRESS
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL

    def effort_options(self, effort: str) -> RequestOptions:
        reasons = self.model.startswith(("gpt-5", "o1", "o3", "o4"))
        return {"reasoning_effort": "high" if effort in ("xhigh", "max") else effort} if reasons else {}

    @property
    def api_key(self) -> str | None:
        """The key; servers of one's own need none, and the SDK insists on some text."""
        return super().api_key or ("none" if self.address else None)

    def problem(self) -> str | None:
        return self.missing_key() or self.missing_package("agent_framework_openai", "openai")

    def client(self) -> ChatClient:
        return completions_client(
            self.model,
            api_key=self.api_key,
            base_url=self.address,
            timeout=self.timeout,
        )


def completions_client(
    model: str, *, api_key: str | None, base_url: str | None, timeout: float = TIMEOUT
) -> ChatClient:
    """Return the framework's client for chat completions."""
    from agent_framework.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(model, api_key=api_key, base_url=base_url)
    client.client = with_timeout(client.client, timeout)
    return client


def with_timeout(connection: Any, seconds: float) -> Any:
    """Return an SDK's connection that gives up after so many seconds without a byte and never asks twice:
    repeating a request, and saying so, is up to the agent."""
    from openai import Timeout

    limits = Timeout(seconds, connect=min(CONNECT_TIMEOUT, seconds))
    return connection.with_options(timeout=limits, max_retries=0)
