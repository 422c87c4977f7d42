"""`agent model …`: the embedded model's file."""

from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Result, group
from skillkit.agent.cli.options import examples
from skillkit.agent.cli.progress import Progress, ProgressBar
from skillkit.agent.exceptions import ModelFileError
from skillkit.agent.local.files import KNOWN_MODELS, QWEN_CODER, ModelStore
from skillkit.agent.local.provider import LocalProvider
from skillkit.agent.local.sources import install_engine
from skillkit.core.codec import encode

app = group("model", "Fetch, check and remove the embedded model.")


@app.command(epilog=examples("agent model install", "agent model install --from ./model.gguf"))
def install(
    given: Annotated[
        Path | None,
        typer.Option(
            "--from", exists=True, dir_okay=False, help="Install this GGUF file; its hash must match."
        ),
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
def list_models() -> Result:
    """Show which models are there."""
    store, data, rows = ModelStore(), [], []
    for model in KNOWN_MODELS:
        there, path = store.installed(model), str(store.path(model))
        data.append({**encode(model, left_out=["sources"]), "installed": there, "path": path})
        rows.append((model.name, "yes" if there else "no", f"{model.size / 1e9:.1f} GB", model.license))
    columns = ("Model", "Installed", "Size", "License")
    return Result(data, lambda: output.table(columns, rows, flexible="License"))


@app.command()
def remove() -> None:
    """Delete the embedded model; the next use fetches it again."""
    found = ModelStore().remove(QWEN_CODER)
    output.say("Removed." if found else "The embedded model was not installed.")


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
