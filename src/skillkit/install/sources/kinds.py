"""Which kinds of sources there are: ours, and those of installed packages."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillkit.core.extensions import Extensions
from skillkit.core.text import HIDDEN_OR_LAYOUT, escape_hidden
from skillkit.install.exceptions import SourceError
from skillkit.install.sources.source import Access, OpenSource, Source, checked_path

MAX_TEXT = 2048
KINDS = Extensions(
    "skillkit.sources",
    "kind of source",
    {
        "marketplace": "skillkit.install.sources.marketplace:MarketplaceSource",
        "clawhub": "skillkit.install.sources.clawhub:ClawHubSource",
        "pypi": "skillkit.install.sources.pypi:PypiSource",
        "npm": "skillkit.install.sources.npm:NpmSource",
        "mcp": "skillkit.install.sources.mcp:McpSource",
        "archive": "skillkit.install.sources.archive:ArchiveSource",
        "folder": "skillkit.install.sources.folder:FolderSource",
        "site": "skillkit.install.sources.site:SiteSource",
        "git": "skillkit.install.sources.git:GitSource",
    },
)


def _load(name: str) -> type[Source]:
    kind = KINDS.load(name)
    if not (isinstance(kind, type) and issubclass(kind, Source) and kind.kind == name):
        raise SourceError(f"The entry point '{name}' of {KINDS.group} is not a Source of that kind: {kind}")
    return kind


def parse_source(text: str, *, ref: str | None = None, path: str | None = None) -> Source:
    """Return the source that `text` names, at `ref` and within `path` where these are given.

    Raises SourceError with what would be right.
    """
    source = _parse(text.strip())
    if ref is not None:
        taken = source.at(ref)
        # A source that already names a version says so by being at it.
        if source.to_data().get("ref") not in (None, taken.to_data().get("ref")):
            raise SourceError(
                f"Two refs: '{source}' names one and '{escape_hidden(ref)}' is beside it. Give one."
            )
        source = taken
    if path is not None:
        parsed = checked_path(path)
        if source.path not in ("", parsed):
            raise SourceError(f"Two paths: '{source.path}' in the source and '{parsed}' beside it. Give one.")
        source = source.within(parsed)
    return source


def _parse(text: str) -> Source:
    shown = escape_hidden(text[:100])
    if not text or len(text) > MAX_TEXT or HIDDEN_OR_LAYOUT.search(text):
        raise SourceError(f"'{shown}' is not a source: empty, too long or with hidden characters")
    if text.startswith("-"):
        raise SourceError(f"'{shown}' looks like an option, not like a source")
    for name in KINDS:
        source = _load(name).parse(text)
        if source is not None:
            return source
    hint = f" For the folder write ./{shown}." if Path(text).is_dir() else ""
    forms = ", ".join(_load(name).form for name in KINDS)
    raise SourceError(f"'{shown}' is not a source.{hint} Write {forms}.")


def source_to_data(source: Source) -> dict[str, str]:
    """Return a source as a registry or a lock keeps it."""
    return {"kind": source.kind, **source.to_data()}


def source_from_data(data: Mapping[str, Any]) -> Source:
    """Return the source that a registry or a lock keeps. Raises SourceError for one that cannot be used.

    A kind that nobody here knows is kept as it is and refuses to be opened.
    """
    for key, value in data.items():
        if not isinstance(value, str) or HIDDEN_OR_LAYOUT.search(value) or len(value) > MAX_TEXT:
            raise SourceError(f"The source's '{escape_hidden(str(key))[:40]}' is no plain text")
    name = data["kind"]
    return _load(name).from_data(data) if name in KINDS else UnknownSource.from_data(data)


@dataclass(frozen=True, slots=True)
class UnknownSource(Source):
    """A source of a kind whose package is not installed now."""

    kind: str  # type: ignore[misc]
    data: tuple[tuple[str, str], ...]
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> None:
        return None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "UnknownSource":
        rest = tuple((key, value) for key, value in data.items() if key not in ("kind", "path"))
        return cls(data["kind"], rest, checked_path(data.get("path", "")))

    def to_data(self) -> dict[str, str]:
        return {**dict(self.data), "path": self.path}

    @property
    def location(self) -> str:
        return " ".join((self.kind, *(value for _, value in self.data)))

    def at(self, version: str) -> "UnknownSource":
        return self

    def open(self, access: Access) -> AbstractContextManager[OpenSource]:
        raise SourceError(
            f"There is no kind of source '{escape_hidden(self.kind)}' here; "
            "the package that brings it is not installed."
        )
