"""A site that publishes skills under /.well-known/agent-skills, in the forms that sites really use."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

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
        return self.url

    @property
    def follows(self) -> str:
        return "what the site publishes"

    def fixed(self, revision: str | None) -> "SiteSource":
        return self

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        from skillkit.install.sources.site_index import OpenSite

        yield OpenSite(self, self.url, access)
