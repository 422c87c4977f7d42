"""A site that publishes skills under /.well-known/agent-skills, in the forms that sites really use."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from skillkit.core.text import escape_hidden
from skillkit.install.sources.source import Access, OpenSource, Source, check_address

_FOLDERS = ("/.well-known/agent-skills", "/.well-known/skills")


@dataclass(frozen=True, slots=True)
class SiteSource(Source):
    """A site's address; `path` is the name of one of its skills."""

    kind: ClassVar[str] = "site"
    form: ClassVar[str] = "https://example.com for a site that publishes skills"

    url: str
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> "SiteSource | None":
        if not text.startswith(("https://", "http://")):
            return None
        try:
            parts = urlsplit(text)
        except ValueError:
            return None
        base = parts.path.removesuffix("/index.json").rstrip("/")
        known = next((folder for folder in _FOLDERS if base.endswith(folder)), "")
        if (base and not known) or parts.query or parts.fragment:
            return None
        return cls(check_address(f"{parts.scheme}://{parts.netloc}{base.removesuffix(known)}"))

    def lock_fields(self, skill_path: str) -> dict[str, str]:
        host = urlsplit(self.url).netloc.removeprefix("www.")
        return {
            "source": host,
            "sourceUrl": self.url,
            "sourceType": "well-known",
            "skillPath": skill_path,
        }

    @property
    def location(self) -> str:
        """The address; one with a path has the folder behind it that tells it from a repository."""
        return self.url + _FOLDERS[0] if urlsplit(self.url).path.strip("/") else self.url

    @property
    def follows(self) -> str:
        return "what the site publishes"

    def fixed(self, revision: str | None) -> "SiteSource":
        return self

    @property
    def root_name(self) -> str:
        return self.url.rstrip("/").rpartition("/")[2]

    def __str__(self) -> str:
        return escape_hidden(self.url + (f" ({self.path})" if self.path else ""))

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        from skillkit.install.sources.site_index import OpenSite

        yield OpenSite(self, self.url, access)
