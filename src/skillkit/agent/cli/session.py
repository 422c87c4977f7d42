"""`agent session …`: saved conversations."""

from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Result, group
from skillkit.agent.cli.options import examples
from skillkit.agent.conversations import ConversationStore, active_skills, as_markdown
from skillkit.core.text import escape_hidden

app = group("session", "List, show, export and delete conversations.")
Id = Annotated[str, typer.Argument(help="Conversation id, or a prefix of it.")]


@app.command("list")
def list_sessions() -> Result:
    """Show the saved conversations, the newest first."""
    found = ConversationStore().all()
    data = [
        {
            "id": each.id,
            "created": each.created,
            "updated": each.updated,
            "title": each.title,
            "messages": len(each.messages),
            "active_skills": active_skills(each),
        }
        for each in found
    ]
    rows = [(each.id, len(each.messages), each.title) for each in found]
    otherwise = "No conversation is saved. Start one with: agent"
    columns = ("Id", "Messages", "Title")
    return Result(data, lambda: output.listing(columns, rows, flexible="Title", otherwise=otherwise))


@app.command()
def delete(identity: Id) -> None:
    """Delete a conversation."""
    output.say(f"Deleted {ConversationStore().delete(identity)}")


@app.command(epilog=examples("agent session export 2026 > talk.md", "agent session export 2026 -o talk.md"))
def export(
    identity: Id,
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file.")] = None,
) -> None:
    """Print a conversation as Markdown."""
    text = as_markdown(ConversationStore().load(identity))
    if file is None:
        typer.echo("\n".join(escape_hidden(line) for line in text.split("\n")), nl=False)
    else:
        file.write_text(text, "utf-8")
