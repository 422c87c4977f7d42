"""A tool as every framework understands it: a name, a description, a schema and an async function."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """A neutral tool definition; integrations wrap it, none of them changes it."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """A JSON schema."""
    handler: Callable[..., Awaitable[object]]

    async def call(self, arguments: Mapping[str, object]) -> object:
        return await self.handler(**arguments)
