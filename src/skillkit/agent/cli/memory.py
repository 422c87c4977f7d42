"""`agent memory …`: what the agent remembers of the user."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Result, group
from skillkit.agent.memory import Fact, Memory
from skillkit.core.text import count_of

app = group("memory", "List, search and delete remembered facts.")


@app.command("list")
def list_facts() -> Result:
    """Show every fact, the newest first."""
    return _result(Memory().all(), "Nothing is remembered.")


@app.command()
def search(words: Annotated[list[str], typer.Argument(help="Search terms.")]) -> Result:
    """Find facts by words."""
    return _result(Memory().search(" ".join(words)), "No remembered fact matches.")


@app.command()
def forget(
    identity: Annotated[int | None, typer.Argument(help="The number of a fact.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all facts.")] = False,
) -> None:
    """Delete a fact, or all of them."""
    if (identity is None) != everything:
        raise typer.BadParameter("give the number of a fact (see: agent memory list) or --all")
    gone = Memory().forget(identity)
    if identity is not None and not gone:
        output.complain(f"There is no fact {identity}. See them with: agent memory list")
        raise typer.Exit(outcome.ERROR)
    output.say(f"Forgot {count_of(gone, 'fact')}.")


def _result(facts: Sequence[Fact], otherwise: str) -> Result:
    rows = [(fact.id, fact.text, fact.stated_at) for fact in facts]
    data = [asdict(fact) for fact in facts]
    return Result(
        data, lambda: output.listing(("Id", "Fact", "Stated"), rows, flexible="Fact", otherwise=otherwise)
    )
