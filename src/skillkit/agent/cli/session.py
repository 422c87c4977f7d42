"""`agent session …`: saved conversations."""

from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import group
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.conversations import ConversationStore, active_skills, as_markdown
from skillkit.core.text import escape_hidden

app = group("session", "Look at, export and delete saved conversations.")
Id = Annotated[str, typer.Argument(help="The id of a conversation, or the beginning of one.")]


@app.command("list")
def list_sessions(json: Json = False) -> None:
    """Show the saved conversations, the newest first."""
    found = ConversationStore().all()
    if json:
        output.print_json(
            [
                {
                    "id": conversation.id,
                    "created": conversation.created,
                    "updated": conversation.updated,
                    "title": conversation.title,
                    "messages": len(conversation.messages),
                    "active_skills": active_skills(conversation),
                }
                for conversation in found
            ]
        )
        return
    if not found:
        output.remark("No conversation is saved. Start one with: agent")
        return
    rows = [(conversation.id, len(conversation.messages), conversation.title) for conversation in found]
    output.table(("Id", "Messages", "Title"), rows, flexible="Title")


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
