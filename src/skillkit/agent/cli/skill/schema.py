"""JSON Schemas for editors: schema."""

from enum import Enum
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family
from skillkit.agent.cli.options import examples

app = Family()


class Name(str, Enum):
    """What a schema is of."""

    SKILL = "skill"
    EVALS = "evals"
    PERMISSIONS = "permissions"
    LOCK = "lock"


@app.command(
    "schema",
    epilog=examples("agent skill schema skill > skill.schema.json", "agent skill schema evals"),
)
def print_schema(
    name: Annotated[
        Name,
        typer.Argument(help="The header of a SKILL.md, evals.json, its permissions:, or skills-lock.json."),
    ],
) -> None:
    """Print the JSON Schema of a file that people write, for editors."""
    from skillkit.evaluation.schemas import schema

    output.print_json(schema(name.value))
