"""Choose the provider: option, settings, then the first available."""

from collections.abc import Iterator
from dataclasses import replace

from skillkit.agent.exceptions import SettingsError
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.providers import PROVIDERS
from skillkit.agent.settings import Settings
from skillkit.core.exceptions import ConfigurationError

_ASKED_LAST = ("ollama", "local")
"""Considered last: Ollama requires a network request, and the embedded model is always available."""


def provider_named(name: str, settings: Settings, model: str | None = None) -> ChatProvider:
    """Return the provider called `name`, with another model if given."""
    try:
        made = PROVIDERS.load(name)
    except ConfigurationError as error:
        raise SettingsError(str(error)) from error
    own = settings.of(name)
    provider = made(replace(own, model=model) if model is not None else own)
    if not isinstance(provider, ChatProvider):
        raise SettingsError(f"Provider '{name}': expected a ChatProvider, got {type(provider).__name__}")
    return provider


def choose(settings: Settings, provider: str | None = None, model: str | None = None) -> ChatProvider:
    """Return the provider from `--provider`, the settings, a key in the environment or a running Ollama, else
    the embedded model."""
    wanted = provider or settings.provider
    if wanted is not None:
        return provider_named(wanted, settings, model)
    return next(found for found in _loadable(settings, model) if found.detected())


def _loadable(settings: Settings, model: str | None) -> Iterator[ChatProvider]:
    """Yield the providers in order of preference; a provider that cannot be imported is skipped."""
    names = [name for name in PROVIDERS if name not in _ASKED_LAST]
    for name in (*names, *_ASKED_LAST):
        try:
            yield provider_named(name, settings, model)
        except SettingsError:
            if name in PROVIDERS.shipped:
                raise
