"""OpenAI models on Azure."""

import os
from typing import ClassVar

from skillkit.agent.models.openai import with_timeout
from skillkit.agent.models.provider import ChatClient, ChatProvider

KEY = "AZURE_OPENAI_API_KEY"
ENDPOINT = "AZURE_OPENAI_ENDPOINT"
DEPLOYMENT = "AZURE_OPENAI_DEPLOYMENT_NAME"


class AzureProvider(ChatProvider):
    """A deployment with a key; the model's name is the deployment's."""

    name: ClassVar[str] = "azure"
    key: ClassVar[str | None] = KEY
    address_variable: ClassVar[str | None] = ENDPOINT
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get(DEPLOYMENT) or ""

    def problem(self) -> str | None:
        missing = self.missing_key()
        if missing is None and not self.address:
            missing = f"The provider 'azure' needs an endpoint: export {ENDPOINT}=…"
        if missing is None and not self.model:
            missing = f"The provider 'azure' needs a deployment: export {DEPLOYMENT}=…"
        return missing or self.missing_package("agent_framework_openai", "azure")

    def client(self) -> ChatClient:
        from agent_framework.openai import OpenAIChatCompletionClient

        client = OpenAIChatCompletionClient(self.model, api_key=self.api_key, azure_endpoint=self.address)
        client.client = with_timeout(client.client, self.timeout)
        return client
