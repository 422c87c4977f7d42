"""Model providers by name; packages add more with the entry point group `skillkit.providers`."""

from skillkit.core.extensions import Extensions

PROVIDERS = Extensions(
    "skillkit.providers",
    "provider",
    {
        "local": "skillkit.agent.local.provider:LocalProvider",
        "openai": "skillkit.agent.models.openai:OpenAIProvider",
        "anthropic": "skillkit.agent.models.anthropic:AnthropicProvider",
        "azure": "skillkit.agent.models.openai:AzureProvider",
        "gemini": "skillkit.agent.models.gemini:GeminiProvider",
        "ollama": "skillkit.agent.models.openai:OllamaProvider",
    },
)
SHIPPED = ", ".join(PROVIDERS.shipped)
"""Names for help texts, independent of other installed packages."""
