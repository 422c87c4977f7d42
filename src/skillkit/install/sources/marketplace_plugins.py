"""Plugins of a marketplace, in the shapes of Claude, Cursor and Codex, and the skills in them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from skillkit.core.foreign_json import parse_json
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError, SourceError
from skillkit.install.sources.archive import ArchiveSource
from skillkit.install.sources.download import check_named
from skillkit.install.sources.git import GitSource
from skillkit.install.sources.layout import Listing, Skipped, join
from skillkit.install.sources.package import NpmSource
from skillkit.install.sources.source import OpenSource, Source, checked_path
from skillkit.install.tree import SkillTree, TreeLimits

Answer = TypeVar("Answer")
MANIFESTS = (
    ".claude-plugin/marketplace.json",
    ".cursor-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".agents/plugins/api_marketplace.json",
    "marketplace.json",
)


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin of a marketplace."""

    name: str
    root: str = ""
    """Its folder in the marketplace, or in `source`."""
    source: Source | None = None
    """Its source, if outside the marketplace."""
    skills: tuple[str, ...] = ()
    """The folders in it that are skills or hold some; empty for a search through all of it."""
    error: str = ""
    """Why it cannot be used."""


def find_plugins(market: OpenSource, wanted: str = "") -> list[Plugin]:
    """Return the plugins of an open marketplace, or the one that is wanted. Raises SourceError."""
    for path in MANIFESTS:
        data = market.read_file(path)
        if data is not None:
            plugins = read_plugins(data, path)
            break
    else:
        raise SourceError(f"{market.followed} is not a marketplace: it has no {MANIFESTS[0]}")
    if not wanted:
        return plugins
    found = [plugin for plugin in plugins if plugin.name == wanted]
    if not found:
        names = ", ".join(plugin.name for plugin in plugins[:30])
        raise SourceError(f"{market.followed} has no plugin '{escape_hidden(wanted)}'. It has: {names}")
    if found[0].error:
        raise SourceError(f"The plugin '{escape_hidden(wanted)}' cannot be used: {found[0].error}")
    place, document = found[0].source, market.followed.location
    if isinstance(place, GitSource | ArchiveSource) and document.startswith(("https:", "http:", "ssh:")):
        check_named(place.location, document)
    return found[:1]


def read_plugins(data: bytes, shown: str) -> list[Plugin]:
    """Return the entries of a marketplace.json; an unusable one has its error."""
    try:
        content = parse_json(data)
        entries = content["plugins"]
        root = (content.get("metadata") or {}).get("pluginRoot") or content.get("pluginRoot") or ""
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(f"{shown} is not a list of plugins: {escape_hidden(str(error))[:100]}") from error
    if isinstance(entries, dict):
        entries = [{"name": name, **entry} for name, entry in entries.items() if isinstance(entry, dict)]
    if not isinstance(entries, list):
        raise SourceError(f"{shown} has no list of plugins")
    plugins: dict[str, Plugin] = {}
    for number, entry in enumerate(entries):
        plugin = _plugin(entry, number, str(root))
        plugins.setdefault(plugin.name, plugin)
    return list(plugins.values())


def _plugin(entry: Any, number: int, plugin_root: str) -> Plugin:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name or "/" in name or not name.isprintable():
        return Plugin(f"plugin-{number}", error="missing or invalid name")
    try:
        root, source = _place(entry.get("source", "./"), plugin_root)
        listed = entry.get("skills")
        listed = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
        skills = tuple(checked_path(str(path).removesuffix("/")) for path in listed)
        # Only where the plugin is the whole repository is its list complete: elsewhere it adds to skills/.
        return Plugin(name, root, source, skills if root == "" else ())
    except (InstallError, KeyError, TypeError) as error:
        return Plugin(name, error=str(error))


def _place(source: Any, plugin_root: str) -> tuple[str, Source | None]:
    """Return the folder of a plugin, and its source if that is another one."""
    if isinstance(source, str):
        bare = not source.startswith(".") and "/" not in source
        return checked_path(f"{plugin_root}/{source}".lstrip("/") if bare and plugin_root else source), None
    kind = source.get("source") or source.get("type")
    if kind in ("local", "path", "directory"):
        return checked_path(str(source["path"])), None
    version = source.get("sha") or source.get("ref") or source.get("version")
    if kind == "archive":
        digest = source.get("sha256")
        return "", ArchiveSource.parse(source["url"] + (f"#sha256={digest}" if digest else ""))
    if kind == "npm":
        return "", NpmSource(source["package"], version or "latest")
    if kind in ("github", "url", "git", "git-subdir"):
        place = GitSource.parse(str(source.get("repo") or source.get("url") or source["repository"]))
        if place is None:
            raise SourceError("its address is invalid")
        root = checked_path(str(source.get("path") or ""))
        return root or place.path, (place if version is None else place.at(str(version))).within("")
    raise SourceError(f"plugins of the kind '{escape_hidden(str(kind))[:40]}' cannot be fetched")


class OpenMarketplace(OpenSource):
    """The skills of plugins, each beneath the name of its plugin."""

    def __init__(
        self,
        followed: Source,
        revision: str | None,
        market: OpenSource,
        plugins: Sequence[Plugin],
        opened: Mapping[str, OpenSource],
    ) -> None:
        self.followed = followed
        self.revision = revision
        self.notes = market.notes
        self._market = market
        self._plugins = {plugin.name: plugin for plugin in plugins}
        self._opened = opened

    def listing(self, start: str = "") -> Listing:
        wanted, _, below = start.partition("/")
        if wanted and wanted not in self._opened:
            raise InstallError(f"{self.followed.location} has no plugin '{escape_hidden(wanted)}' here")
        found: list[str] = []
        left_out: list[Skipped] = []
        for name, plugin in self._plugins.items():
            if wanted and name != wanted:
                continue
            if name not in self._opened:
                elsewhere = f"it lies elsewhere, in {plugin.source}; add {name}@ in front of the marketplace"
                left_out.append(Skipped(name, plugin.error or elsewhere))
                continue
            try:
                folders, left = self._skills_of(plugin, below)
            except InstallError as error:
                left_out.append(Skipped(name, str(error)))
                continue
            found += folders
            left_out += left
        return Listing(tuple(found), tuple(left_out))

    def _skills_of(self, plugin: Plugin, below: str) -> tuple[list[str], list[Skipped]]:
        opened = self._opened[plugin.name]
        starts = [join(plugin.root, path) for path in plugin.skills] or [plugin.root]
        listings = [opened.listing(start) for start in ([join(plugin.root, below)] if below else starts)]
        inner = [path for listing in listings for path in listing.folders]
        prefix = f"{plugin.root}/" if plugin.root else ""
        paths = [join(plugin.name, path[len(prefix) :] if path != plugin.root else "") for path in inner]
        return paths, [left for listing in listings for left in listing.left_out]

    def _inner(self, path: str) -> tuple[OpenSource, str]:
        name, _, below = path.partition("/")
        plugin = self._plugins.get(name)
        if plugin is None or name not in self._opened:
            raise InstallError(f"{self.followed.location} no longer has a plugin '{escape_hidden(name)}'")
        return self._opened[name], join(plugin.root, below)

    def headers(self, paths: Sequence[str]) -> list[bytes]:
        return self._of_each(paths, lambda opened, inner: opened.headers(inner))

    def read(self, paths: Sequence[str], limits: TreeLimits) -> list[SkillTree | InstallError]:
        return self._of_each(paths, lambda opened, inner: opened.read(inner, limits))

    def _of_each(
        self, paths: Sequence[str], ask: Callable[[OpenSource, Sequence[str]], Sequence[Answer]]
    ) -> list[Answer]:
        """Call `ask` once for each source with all of its paths; return the results together."""
        groups: dict[OpenSource, dict[str, str]] = {}
        for path in paths:
            opened, inner = self._inner(path)
            groups.setdefault(opened, {})[path] = inner
        found: dict[str, Answer] = {}
        for opened, members in groups.items():
            found |= zip(members, ask(opened, [*members.values()]), strict=True)
        return [found[path] for path in paths]

    def holds(self, path: str, tree: SkillTree) -> bool:
        opened, inner = self._inner(path)
        return opened.holds(inner, tree)

    def earlier(self, path: str, limits: TreeLimits) -> Iterator[tuple[str | None, SkillTree]]:
        opened, inner = self._inner(path)
        yield from opened.earlier(inner, limits)

    def is_vouched_for(self) -> bool:
        return all(opened.is_vouched_for() for opened in dict.fromkeys(self._opened.values()))

    def moved(self, revision: str | None) -> list[str]:
        return self._market.moved((revision or "").partition("+")[0] or None)

    def history(self, revision: str | None) -> list[str]:
        return self._market.history((revision or "").partition("+")[0] or None)
