"""Another machine's MCP server that offers skills, by its address."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar

from skillkit.core.extras import pip_install
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import SourceError
from skillkit.install.sources.source import Access, OpenSource, Source, check_address

_PREFIX = "mcp:"
_READER = "skillkit.integrations.mcp.client"
"""Speaks the protocol, which belongs to a higher layer and to an optional package."""


@dataclass(frozen=True, slots=True)
class McpSource(Source):
    """A server's address; `path` is the name of one of its skills."""

    kind: ClassVar[str] = "mcp"
    form: ClassVar[str] = "mcp:https://example.com/mcp for an MCP server that offers skills"

    url: str
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> "McpSource | None":
        return cls(text.removeprefix(_PREFIX)) if text.startswith(_PREFIX) else None

    def __post_init__(self) -> None:
        check_address(self.url)

    @property
    def location(self) -> str:
        return f"{_PREFIX}{self.url}"

    @property
    def follows(self) -> str:
        return "what the server offers"

    def fixed(self, revision: str | None) -> "McpSource":
        return self

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        try:
            reader = import_module(_READER)
        except ImportError as error:
            raise SourceError(
                f"{self} needs another package: {pip_install('mcp')} ({escape_hidden(str(error))})"
            ) from error
        access.progress(f"Asking {self}")
        yield reader.OpenServer(self, self.url, access)
