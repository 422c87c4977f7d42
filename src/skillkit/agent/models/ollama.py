"""Models of an Ollama that runs on this machine or another; it speaks OpenAI's protocol too."""

import json
from typing import ClassVar
from urllib.error import URLError
from urllib.request import urlopen

from skillkit.agent.models.openai import completions_client
from skillkit.agent.models.provider import ChatClient, ChatProvider

ADDRESS = "OLLAMA_HOST"
SECONDS = 0.5


class OllamaProvider(ChatProvider):
    """Any model that Ollama has; without a choice, the first one it lists."""

    name: ClassVar[str] = "ollama"
    address_variable: ClassVar[str | None] = ADDRESS
    marks_end: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return self.settings.model or next(iter(self.models() or ()), "")

    def models(self) -> list[str] | None:
        """Return the models that Ollama has; None when it cannot be reached."""
        try:
            with urlopen(f"{self.address}/api/tags", timeout=SECONDS) as response:
                return [str(entry["name"]) for entry in json.load(response)["models"]]
        except (URLError, OSError, ValueError, KeyError, TypeError):
            return None

    def problem(self) -> str | None:
        models = self.models()
        if models is None:
            return f"Ollama does not answer at {self.address}. Start it with: ollama serve"
        if not models and not self.settings.model:
            return "Ollama has no model. Fetch one with: ollama pull qwen3"
        return self.missing_package("agent_framework_openai", "ollama")

    def detected(self) -> bool:
        return self.problem() is None

    def client(self) -> ChatClient:
        address = f"{self.address}/v1"
        return completions_client(self.model, api_key="ollama", base_url=address, timeout=self.timeout)

    @property
    def address(self) -> str:
        address = super().address or "127.0.0.1:11434"
        if "://" not in address:
            address = f"http://{address}"
        return address.rstrip("/").removesuffix("/v1")
