"""`agent secret …`: keys that scripts use without ever seeing them."""

import getpass
import sys
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Result, group
from skillkit.agent.cli.options import examples
from skillkit.core.text import escape_hidden
from skillkit.scripts.secret_store import SecretStore

app = group("secret", "Manage keys that scripts use without seeing them.")
Name = Annotated[str, typer.Argument(help="Name in the skill's header, such as KALSHI_KEY.")]


@app.command(
    "set", epilog=examples("agent secret set KALSHI_KEY", "pass show kalshi | agent secret set KALSHI_KEY")
)
def set_(name: Name) -> None:
    """Keep a secret; it is asked for, or read from a pipe, and never shown."""
    store = SecretStore()
    value = getpass.getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.readline()
    store.set(name, value.strip())
    output.say(f"{escape_hidden(name)} is kept in {escape_hidden(store.place)}", whole=True)
    if not store.in_keyring:
        output.remark(
            "That is a plain file that only you can read: no keyring was found. "
            "With the Python package keyring and a keyring of the system it would be encrypted.",
            "yellow",
        )
    elif not store.is_encrypted:
        output.remark(
            "The Python package keyring does not recommend that one: it does not encrypt.", "yellow"
        )


@app.command("list", epilog=examples("agent secret list", "agent secret list --json"))
def list_() -> Result:
    """Show the names of your secrets."""
    names = SecretStore().names()

    def show() -> None:
        for name in names:
            output.say(escape_hidden(name))
        if not names:
            output.remark("No secrets. Add one with: agent secret set API_KEY")

    return Result({"secrets": names}, show)


@app.command(epilog=examples("agent secret remove KALSHI_KEY"))
def remove(name: Name) -> None:
    """Forget a secret."""
    if not SecretStore().remove(name):
        output.complain(f"There is no secret {escape_hidden(name)}.")
        raise typer.Exit(outcome.ERROR)
    output.say(f"Removed {escape_hidden(name)}.")
