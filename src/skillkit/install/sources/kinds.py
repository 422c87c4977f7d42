"""The registered kinds of sources: ours, and those of installed packages."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skillkit.core.extensions import Extensions
from skillkit.core.limits import INDEX_BYTES
from skillkit.core.text import HIDDEN_OR_LAYOUT, escape_hidden
from skillkit.install.exceptions import InstallError, SourceError
from skillkit.install.sources.source import Access, OpenSource, Source, checked_path

MAX_TEXT = 2048
_REPOSITORIES = frozenset({"github.com", "gitlab.com"})
"""Hosts that `npx skills` takes for git without asking, too."""
KINDS = Extensions(
    "skillkit.sources",
    "kind of source",
    {
        "marketplace": "skillkit.install.sources.marketplace:MarketplaceSource",
        "clawhub": "skillkit.install.sources.clawhub:ClawHubSource",
        "apm": "skillkit.install.sources.apm:ApmSource",
        "pypi": "skillkit.install.sources.package:PypiSource",
        "npm": "skillkit.install.sources.package:NpmSource",
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

    Raises SourceError, which lists the valid forms.
    """
    source = _parse(text.strip())
    if ref is not None:
        taken = source.at(ref)
        # Only a source that already names a version has a `ref` in its data.
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


def resolve_source(text: str, access: Access, *, ref: str | None = None, path: str | None = None) -> Source:
    """Return the source that `text` names; ask the server if the text is ambiguous.

    An https address with a path is a repository, or an owner or a skill of a registry: the index says which.
    """
    source = parse_source(text, ref=ref, path=path)
    place = text.strip().rstrip("/")
    parts = urlsplit(place)
    if (
        source.kind != "git"
        or parts.scheme not in ("https", "http")
        or parts.hostname in _REPOSITORIES
        or place.endswith(".git")
        or ref is not None
        or parts.query
        or parts.fragment
    ):
        return source
    from skillkit.install.sources.download import download
    from skillkit.install.sources.site import SiteSource
    from skillkit.install.sources.site_index import INDEXES, read_index

    address = place + INDEXES[0]
    try:
        read_index(download(address, access, limit=INDEX_BYTES), address)
    except InstallError:
        return source
    return SiteSource(place, path or "")


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
            raise SourceError(f"The source's '{escape_hidden(str(key))[:40]}' is not plain text")
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
            f"Unknown kind of source '{escape_hidden(self.kind)}'; "
            "the package that provides it is not installed."
        )
