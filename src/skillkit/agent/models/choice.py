"""Which provider answers: what the user says, then the settings, then what is there."""

import os
from dataclasses import replace

from skillkit.agent.exceptions import SettingsError
from skillkit.agent.models import anthropic, azure, gemini, openai
from skillkit.agent.models.anthropic import AnthropicProvider
from skillkit.agent.models.azure import AzureProvider
from skillkit.agent.models.gemini import GeminiProvider
from skillkit.agent.models.local import LocalProvider
from skillkit.agent.models.ollama import OllamaProvider
from skillkit.agent.models.openai import OpenAIProvider
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.settings import PROVIDERS, Settings

# In this order a key in the environment decides, when nothing else does.
_BY_KEY = {
    "openai": openai.KEY,
    "anthropic": anthropic.KEY,
    "azure": azure.KEY,
    "gemini": gemini.KEY,
}


def provider_named(name: str, settings: Settings, model: str | None = None) -> ChatProvider:
    """The provider called `name`, with another model if one is given."""
    own = settings.of(name)
    if model is not None:
        own = replace(own, model=model)
    match name:
        case "local":
            return LocalProvider(own)
        case "openai":
            return OpenAIProvider(own)
        case "anthropic":
            return AnthropicProvider(own)
        case "azure":
            return AzureProvider(own)
        case "gemini":
            return GeminiProvider(own)
        case "ollama":
            return OllamaProvider(own)
        case _:
            raise SettingsError(f"There is no provider '{name}'. Choose one of: {', '.join(PROVIDERS)}")


def choose(settings: Settings, provider: str | None = None, model: str | None = None) -> ChatProvider:
    """`--provider`, the settings, a key in the environment, a running Ollama, else the embedded model."""
    wanted = provider or settings.provider
    if wanted is not None:
        return provider_named(wanted, settings, model)
    for name, variable in _BY_KEY.items():
        if os.environ.get(settings.of(name).api_key_env or variable):
            return provider_named(name, settings, model)
    ollama = provider_named("ollama", settings, model)
    if ollama.problem() is None:
        return ollama
    return provider_named("local", settings, model)
