"""`agent model …`: the embedded model's file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import group
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.cli.progress import Progress
from skillkit.agent.exceptions import ModelFileError
from skillkit.agent.local.files import KNOWN_MODELS, QWEN_CODER, ModelStore
from skillkit.agent.local.provider import LocalProvider
from skillkit.agent.local.sources import install_engine
from skillkit.agent.models.provider import ChatProvider
from skillkit.core.codec import encode
from skillkit.core.text import escape_hidden

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

app = group("model", "Fetch, check and remove the embedded model.")


@app.command(epilog=examples("agent model install", "agent model install --from ./model.gguf"))
def install(
    given: Annotated[
        Path | None,
        typer.Option("--from", exists=True, dir_okay=False, help="A GGUF file with the same bytes."),
    ] = None,
) -> None:
    """Fetch the embedded model once; its hash decides."""
    store = ModelStore()
    with ProgressBar() as bar:
        if given is None and (needed := LocalProvider(store=store).download()):
            bar.say(f"Fetching {needed}.")
        install_engine(bar.say)
        path = store.install(QWEN_CODER, given=given, progress=bar.advance, report=bar.say)
    output.say(f"{QWEN_CODER.name} is ready: {path}")


@app.command("list")
def list_models(json: Json = False) -> None:
    """Show which models are there."""
    store = ModelStore()
    if json:
        output.print_json(
            [
                {
                    **encode(model, left_out=["sources"]),
                    "installed": store.installed(model),
                    "path": str(store.path(model)),
                }
                for model in KNOWN_MODELS
            ]
        )
        return
    rows = [
        (model.name, "yes" if store.installed(model) else "no", f"{model.size / 1e9:.1f} GB", model.license)
        for model in KNOWN_MODELS
    ]
    output.table(("Model", "Installed", "Size", "License"), rows, flexible="License")


@app.command()
def remove() -> None:
    """Delete the embedded model; the next use fetches it again."""
    found = ModelStore().remove(QWEN_CODER)
    output.say("Removed." if found else "It was not installed.")


@app.command()
def verify() -> None:
    """Check the model's bytes against its hash."""
    store = ModelStore()
    if not store.installed(QWEN_CODER):
        raise ModelFileError("The model is not installed. Fetch it with: agent model install")
    with Progress() as progress:
        progress("Reading 1.1 GB")
        intact = store.verify(QWEN_CODER)
    if not intact:
        raise ModelFileError(
            "The model's bytes are not the publisher's. "
            "Replace it: agent model remove, then agent model install"
        )
    output.say(f"{QWEN_CODER.name} is intact: sha256 {QWEN_CODER.sha256}")


def fetch_first(provider: ChatProvider) -> None:
    """Fetch what `provider` needs before its first request; say so, and ask where somebody can answer."""
    needed = provider.download()
    if needed is None:
        return
    from skillkit.agent.cli.asking import Asker

    with Progress() as progress, ProgressBar() as bar:
        asker = Asker(progress)
        bar.say(about_download(needed))
        if asker.interactive and not asker.confirm("Fetch it now?"):
            raise ModelFileError("Nothing was fetched, so no model can answer.")
        provider.reporting(bar.advance, bar.say).fetch()


def about_download(needed: str) -> str:
    return (
        f"The embedded model has to be fetched, once: {needed}. To use another one instead, name an "
        "endpoint (export OPENAI_BASE_URL=…) or a key (export OPENAI_API_KEY=…, or one of Anthropic, Azure "
        "or Gemini), or start Ollama."
    )


class ProgressBar:
    """Progress of a download on stderr: a bar for people, a line for every tenth in a log."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._tenth = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def say(self, text: str) -> None:
        output.remark(escape_hidden(text))

    def advance(self, there: int, size: int) -> None:
        screen = output.console(stderr=True)
        if not screen.is_terminal:
            tenth = there * 10 // size
            if tenth > self._tenth:
                self._tenth = tenth
                self.say(f"{tenth * 10} % of {size / 1e9:.1f} GB")
            return
        if self._bar is None:
            from rich import progress as rich
            from rich.progress import Progress as Bar

            self._bar = Bar(
                rich.BarColumn(), rich.DownloadColumn(), rich.TimeRemainingColumn(), console=screen
            )
            self._task = self._bar.add_task("model", total=size)
            self._bar.start()
        assert self._task is not None
        self._bar.update(self._task, completed=there)
        if there >= size:
            self.__exit__()
