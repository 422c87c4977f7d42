"""`agent memory …`: what the agent remembers of the user."""

from collections.abc import Sequence
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import group
from skillkit.agent.cli.options import Json
from skillkit.agent.memory import Fact, Memory

app = group("memory", "Look at, search and delete what the agent remembers.")


@app.command("list")
def list_facts(json: Json = False) -> None:
    """Show every fact, the newest first."""
    _show(Memory().all(), json=json)


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="Words to look for.")], json: Json = False
) -> None:
    """Find facts by words."""
    _show(
        Memory().search(" ".join(words)), json=json, otherwise="Nothing that is remembered has these words."
    )


@app.command()
def forget(
    identity: Annotated[int | None, typer.Argument(help="The number of a fact.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget everything.")] = False,
) -> None:
    """Delete a fact, or all of them."""
    if (identity is None) != everything:
        raise typer.BadParameter("give the number of a fact (see: agent memory list) or --all")
    gone = Memory().forget(identity)
    if identity is not None and not gone:
        output.complain(f"There is no fact {identity}. See them with: agent memory list")
        raise typer.Exit(outcome.ERROR)
    output.say(f"Forgot {output.count(gone, 'fact')}.")


def _show(facts: Sequence[Fact], *, json: bool, otherwise: str = "Nothing is remembered.") -> None:
    if json:
        output.print_json([{"id": fact.id, "text": fact.text, "stated_at": fact.stated_at} for fact in facts])
    elif facts:
        output.table(("Id", "Fact", "Stated"), [(f.id, f.text, f.stated_at) for f in facts], flexible="Fact")
    else:
        output.remark(otherwise)
