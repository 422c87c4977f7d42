"""A plugin marketplace: a list of plugins in a repository or folder, each with skills here or elsewhere."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import SourceError
from skillkit.install.sources.folder import FolderSource
from skillkit.install.sources.git import GitSource
from skillkit.install.sources.source import Access, OpenSource, Source, checked_path

_TEXT = re.compile(r"(?:(?P<plugin>[A-Za-z0-9][\w.-]{0,99})@)?marketplace:(?P<place>.+)")
_PLACES: tuple[type[Source], ...] = (FolderSource, GitSource)


@dataclass(frozen=True, slots=True)
class MarketplaceSource(Source):
    """A marketplace, one of its plugins or all that lie in it, and where in that to look."""

    kind: ClassVar[str] = "marketplace"
    form: ClassVar[str] = "[plugin@]marketplace:owner/repo"

    place: Source
    """The repository or folder that holds marketplace.json."""
    plugin: str = ""
    plugin_revision: str = ""
    """Of a plugin that lies elsewhere, when an exact one is wanted."""
    path: str = ""
    """The plugin's name, then the folder in the plugin."""

    @classmethod
    def parse(cls, text: str) -> "MarketplaceSource | None":
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        for kind in _PLACES:
            place = kind.parse(match["place"])
            if place is not None:
                return cls(place, match["plugin"] or "")
        raise SourceError(f"'{escape_hidden(match['place'][:100])}' is neither a repository nor ./folder")

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "MarketplaceSource":
        inner = {key.removeprefix("place_"): value for key, value in data.items() if key.startswith("place_")}
        kind = next(kind for kind in _PLACES if kind.kind == inner["kind"])
        path = checked_path(data.get("path", ""))
        return cls(kind.from_data(inner), data.get("plugin", ""), data.get("plugin_revision", ""), path)

    def to_data(self) -> dict[str, str]:
        inner = {"kind": self.place.kind, **self.place.to_data()}
        own = {"plugin": self.plugin, "plugin_revision": self.plugin_revision, "path": self.path}
        return {**{f"place_{key}": value for key, value in inner.items()}, **own}

    @property
    def location(self) -> str:
        return f"{self.plugin}@{self._name}" if self.plugin else self._name

    @property
    def _name(self) -> str:
        return f"marketplace:{self.place.location}"

    @property
    def pinned(self) -> bool:
        return self.place.pinned and (not self.plugin or bool(self.plugin_revision))

    @property
    def portable(self) -> bool:
        return self.place.portable

    @property
    def follows(self) -> str | None:
        return self.place.follows

    @property
    def root_name(self) -> str:
        return self.plugin or self.place.root_name

    def at(self, version: str) -> "MarketplaceSource":
        return replace(self, place=self.place.at(version))

    def fixed(self, revision: str | None) -> "MarketplaceSource":
        market, _, plugin = (revision or "").partition("+")
        return replace(self, place=self.place.fixed(market or None), plugin_revision=plugin)

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        from skillkit.install.sources.marketplace_plugins import OpenMarketplace, find_plugins

        with ExitStack() as stack:
            market = stack.enter_context(self.place.open(access))
            plugins = find_plugins(market, self.plugin)
            revision, opened = market.revision, {}
            for plugin in plugins:
                if plugin.error:
                    continue
                if plugin.source is None:
                    opened[plugin.name] = market
                elif self.plugin:
                    source = (
                        plugin.source.fixed(self.plugin_revision) if self.plugin_revision else plugin.source
                    )
                    opened[plugin.name] = stack.enter_context(source.open(access))
                    revision = f"{market.revision or ''}+{opened[plugin.name].revision or ''}"
            followed = replace(self, place=market.followed.within(""), plugin_revision="")
            yield OpenMarketplace(followed, revision, market, plugins, opened)
