"""OpenAI models on Azure."""

import os
from dataclasses import dataclass

from skillkit.agent.models.provider import ChatClient, RequestOptions, key_of, missing_key, missing_package
from skillkit.agent.settings import NO_SETTINGS, ProviderSettings

KEY = "AZURE_OPENAI_API_KEY"
ENDPOINT = "AZURE_OPENAI_ENDPOINT"
DEPLOYMENT = "AZURE_OPENAI_DEPLOYMENT_NAME"


@dataclass(frozen=True, slots=True)
class AzureProvider:
    """A deployment with a key; the model's name is the deployment's."""

    settings: ProviderSettings = NO_SETTINGS
    name: str = "azure"
    options: RequestOptions | None = None

    @property
    def model(self) -> str:
        return self.settings.model or os.environ.get(DEPLOYMENT) or ""

    def problem(self) -> str | None:
        missing = missing_key(self.name, self.settings, KEY)
        if missing is None and not self._endpoint:
            missing = f"The provider 'azure' needs an endpoint: export {ENDPOINT}=…"
        if missing is None and not self.model:
            missing = f"The provider 'azure' needs a deployment: export {DEPLOYMENT}=…"
        return missing or missing_package(self.name, "agent_framework_openai", "azure")

    def client(self) -> ChatClient:
        from agent_framework.openai import OpenAIChatCompletionClient

        return OpenAIChatCompletionClient(
            self.model, api_key=key_of(self.settings, KEY), azure_endpoint=self._endpoint
        )

    @property
    def _endpoint(self) -> str | None:
        return self.settings.base_url or os.environ.get(ENDPOINT)
