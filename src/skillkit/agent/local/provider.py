"""The embedded model: needs no key, and no network after the first use."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from skillkit.agent.exceptions import ModelFileError
from skillkit.agent.local.files import QWEN_CODER, ModelStore
from skillkit.agent.local.sources import ENGINE, engine_installed, install_engine
from skillkit.agent.models.provider import Advance, ChatClient, ChatProvider, Report
from skillkit.agent.settings import NO_SETTINGS, ProviderSettings

if TYPE_CHECKING:
    from skillkit.agent.local.engine import LocalEngine


WHAT_IT_IS = (
    "The embedded model is an offline demonstration with 1.5 billion parameters; for work, "
    "use any OpenAI-compatible endpoint: agent config set provider openai"
)


class LocalProvider(ChatProvider):
    """Qwen2.5-Coder-1.5B in this process; a setting `local.model` names another GGUF file."""

    name: ClassVar[str] = "local"
    marks_end: ClassVar[bool] = True
    embedded: ClassVar[bool] = True
    in_process: ClassVar[bool] = True
    context: ClassVar[int] = 8192

    def __init__(
        self,
        settings: ProviderSettings = NO_SETTINGS,
        store: ModelStore | None = None,
        advance: Advance = lambda there, size: None,
        report: Report = lambda text: None,
    ) -> None:
        super().__init__(settings)
        self.store = store or ModelStore()
        self.advance = advance
        self.report = report

    @property
    def model(self) -> str:
        return Path(self.settings.model).stem if self.settings.model else QWEN_CODER.name

    def problem(self) -> str | None:
        if self.settings.model and not Path(os.path.expanduser(self.settings.model)).is_file():
            return (
                f"There is no model file {self.settings.model}. Name one with: "
                "agent config set local.model PATH — or go back to the built-in one: "
                "agent config set local.model ''"
            )
        if self.download() is not None:
            return "The embedded model is not installed. Fetch it with: agent model install"
        return None

    def detected(self) -> bool:
        return True

    def reporting(self, advance: Advance, report: Report) -> "LocalProvider":
        return LocalProvider(self.settings, self.store, advance, report)

    def download(self) -> str | None:
        parts = []
        if not self.settings.model and not self.store.installed(QWEN_CODER):
            origins = " or ".join(source.name for source in QWEN_CODER.sources)
            parts.append(f"{QWEN_CODER.name} ({QWEN_CODER.size / 1e9:.1f} GB from {origins or 'nowhere'})")
        if not engine_installed():
            parts.append(f"its engine {ENGINE} (about 35 MB, installed with pip)")
        return " and ".join(parts) or None

    def fetch(self) -> None:
        install_engine(self.report)
        if not self.settings.model:
            self.store.install(QWEN_CODER, progress=self.advance, report=self.report)

    def client(self) -> ChatClient:
        from skillkit.agent.local.client import LocalChatClient

        return LocalChatClient(self.engine(), self.model)

    def engine(self) -> "LocalEngine":
        """Return the loaded model."""
        from skillkit.agent.local.engine import LocalEngine

        path, states = self.path(), self.store.folder / "states"
        if not states.exists():
            self.report(WHAT_IT_IS)
        return LocalEngine(path, states, context=self.context_tokens)

    def path(self) -> Path:
        """Return the path of the model's file, downloaded by `fetch`."""
        if self.settings.model:
            return Path(os.path.expanduser(self.settings.model))
        if not self.store.installed(QWEN_CODER):
            raise ModelFileError("The embedded model is not installed. Fetch it with: agent model install")
        return self.store.path(QWEN_CODER)
