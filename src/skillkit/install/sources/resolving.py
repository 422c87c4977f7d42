"""From what a user typed to a source, asking the server where the text alone does not say."""

from urllib.parse import urlsplit

from skillkit.core.limits import INDEX_BYTES
from skillkit.install.exceptions import InstallError
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.site import SiteSource
from skillkit.install.sources.source import Access, Source

_REPOSITORIES = frozenset({"github.com", "gitlab.com"})
"""Hosts that `npx skills` takes for git without asking, too."""


def resolve_source(text: str, access: Access, *, ref: str | None = None, path: str | None = None) -> Source:
    """Return the source that `text` names.

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
    from skillkit.install.sources.site_index import INDEXES, read_index

    address = place + INDEXES[0]
    try:
        read_index(download(address, access, limit=INDEX_BYTES), address)
    except InstallError:
        return source
    return SiteSource(place, path or "")
