"""Sources of skills that the user has added: installed Python packages, and MCP servers."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.codec import decode, encode
from skillkit.core.disk import DamagedFileError, JsonFile, locked, make_folder
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillSource, SourceType
from skillkit.core.sources import PRIORITY_LAST

FILE, VERSION = "skill-sources.json", 1
REMOTE_FOLDER = "mcp-skills"
Change = Callable[[Sequence["AddedSource"]], Iterable["AddedSource"]]


@dataclass(frozen=True, slots=True)
class AddedSource:
    """A Python package by its import name, or an MCP server by the user's name for it."""

    name: str
    url: str = ""
    command: tuple[str, ...] = ()
    """Starts a server that talks over its standard input and output."""

    @property
    def is_package(self) -> bool:
        return not (self.url or self.command)

    @property
    def address(self) -> str:
        return self.url or " ".join(self.command) or "Python package"


class AddedSources:
    """The sources that were added, in a file of the agent's home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = JsonFile(home / FILE, VERSION)

    def load(self) -> tuple[AddedSource, ...]:
        try:
            content = self.file.read()
        except DamagedFileError as error:
            raise SkillsUseError(f"{self.file.path} is {error}. Fix it or delete it") from error
        listed = (content or {}).get("sources")
        sources = listed if isinstance(listed, list) else []
        return tuple(decode(AddedSource, each, forgiving=True) for each in sources if isinstance(each, dict))

    def add(self, source: AddedSource) -> None:
        """Add a source; one of the same name is replaced."""
        self._change(lambda known: [*(each for each in known if each.name != source.name), source])

    def remove(self, name: str) -> bool:
        """Remove a source; return whether it existed."""
        known = any(source.name == name for source in self.load())
        self._change(lambda sources: [each for each in sources if each.name != name])
        return known

    @property
    def packages(self) -> list[str]:
        return [source.name for source in self.load() if source.is_package]

    def remote(self) -> list[SkillSource]:
        """Return the folders with skills fetched from servers, last in precedence."""
        servers = [source.name for source in self.load() if not source.is_package]
        folders = [(name, remote_folder(self.home / REMOTE_FOLDER, name)) for name in servers]
        return [
            SkillSource(SourceType.CUSTOM, folder, PRIORITY_LAST, label=f"mcp-{name}")
            for name, folder in folders
            if folder.is_dir()
        ]

    def _change(self, change: Change) -> None:
        make_folder(self.home)
        with locked(self.file.path.with_suffix(".lock")):
            self.file.write({"sources": [encode(source) for source in change(self.load())]})


def remote_folder(folder: Path, server: str) -> Path:
    """Return where the skills of an MCP server are kept."""
    return folder / f"{server}-{hashlib.sha256(server.encode()).hexdigest()[:16]}"
