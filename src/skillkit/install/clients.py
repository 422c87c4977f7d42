"""Other programs that read skills: the folders each one looks in. The table is clients.json."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from skillkit.core.codec import decode
from skillkit.core.disk import user_home
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import InstallError

UNIVERSAL = ".agents/skills"
"""The project folder that many clients share."""
ALL_DETECTED = "all-detected"
_HOMES = {
    "XDG_CONFIG_HOME": "~/.config",
    "CLAUDE_CONFIG_DIR": "~/.claude",
    "CODEX_HOME": "~/.codex",
    "VIBE_HOME": "~/.vibe",
    "HERMES_HOME": "~/.hermes",
    "AUTOHAND_HOME": "~/.autohand",
    "GROK_HOME": "~/.grok",
    "SARVAM_HOME": "~/.sarvam",
}


@dataclass(frozen=True, slots=True)
class Client:
    """A program that reads skills from folders of its own, or from `.agents/skills`."""

    id: str
    name: str
    project: str
    """Its folder in a project."""
    personal: tuple[str, ...]
    """Its folders in the user's home, the one of today first; empty when it has none."""
    evidence: tuple[str, ...]
    """A path that exists if the client is installed; `./…` is in the project."""
    listing_chars: int | None = None
    """Maximum characters of its skill list in a window of 200,000 tokens."""
    listing_chars_each: int | None = None

    @property
    def universal(self) -> bool:
        return self.project == UNIVERSAL

    def searched_folders(self, project: Path) -> tuple[Path, ...]:
        """Return every folder the client searches for skills when it runs in `project`."""
        shared = (_expanded(f"~/{UNIVERSAL}"),) if self.universal else ()
        folders = (project / self.project, *shared, *map(_expanded, self.personal))
        return tuple(dict.fromkeys(folders))


@dataclass(frozen=True, slots=True)
class Place:
    """A folder or link in a client's folder through which it sees an installed skill."""

    path: str
    clients: tuple[str, ...]
    copied: bool = False
    """A folder of its own, where a link is not possible or not wanted."""

    def __str__(self) -> str:
        return f"{'copied' if self.copied else 'linked'} to {self.path} for {', '.join(self.clients)}"

    @staticmethod
    def from_data(data: Any) -> "Place":
        place = decode(Place, data, forgiving=True)
        if not os.path.isabs(place.path):
            raise ValueError("invalid place")
        return place


@dataclass(frozen=True, slots=True)
class InstallTargets:
    """The clients to install skills for."""

    clients: tuple[Client, ...]
    project: Path | None = None
    """The project whose folders are meant; the user's own folders without one."""
    copy: bool = False

    def places(self, skill: str) -> tuple[Place, ...]:
        """Return the places of a skill by canonical name: one for all clients that share a folder."""
        folders: dict[Path, list[str]] = {}
        for client in self.clients:
            folder = _skill_folder(client, self.project)
            if folder is None:
                raise InstallError(f"{client.name} has no global skills folder; name a project")
            folders.setdefault(folder, []).append(client.id)
        return tuple(Place(str(folder / skill), tuple(ids), self.copy) for folder, ids in folders.items())


@cache
def all_clients() -> Mapping[str, Client]:
    """Return every client by its id."""
    rows = json.loads(Path(__file__).with_name("clients.json").read_bytes())
    return MappingProxyType({id_: decode(Client, {"id": id_, **row}) for id_, row in rows.items()})


def shared_folders() -> frozenset[Path]:
    """Return the folders in the user's home where other programs install skills."""
    return _shared_folders(user_home(), tuple(os.environ.get(name, "") for name in _HOMES))


@cache
def _shared_folders(home: Path, homes: tuple[str, ...]) -> frozenset[Path]:
    """Return the shared folders, cached by `home` and `homes`, the variables that move folders."""
    personal = {_expanded(path) for client in all_clients().values() for path in client.personal}
    return frozenset({home / ".claude/skills", home / UNIVERSAL, *personal})


def detected_clients(project: Path) -> list[Client]:
    """Return the clients with traces on this machine or in this project."""
    return [client for client in all_clients().values() if _is_detected(client, project)]


def parse_clients(words: Sequence[str], project: Path) -> tuple[Client, ...]:
    """Return the clients that `words` name, each an id, several with commas, or `all-detected`."""
    clients: dict[str, Client] = {}
    for word in (part.strip().lower() for text in words for part in text.split(",")):
        if word == ALL_DETECTED:
            clients |= {client.id: client for client in detected_clients(project)}
        elif word in all_clients():
            clients[word] = all_clients()[word]
        elif word:
            near = get_close_matches(word, all_clients(), 3, 0.5)
            hint = f" Near it: {', '.join(near)}." if near else ""
            raise InstallError(f"Unknown client '{escape_hidden(word)}'.{hint}")
    if not clients:
        raise InstallError("No client found on this machine. Name one, such as claude-code or codex.")
    return tuple(clients.values())


def _expanded(path: str) -> Path:
    """Expand a path of the table for this machine."""
    head, slash, rest = path.partition("/")
    if head.startswith("$"):
        head = os.environ.get(head[1:], "").strip() or _HOMES[head[1:]]
    return Path(os.path.expanduser(f"{head}{slash}{rest}"))


def _skill_folder(client: Client, project: Path | None) -> Path | None:
    """Return where a skill is put for a client; None when it has no folder of that kind."""
    if project is not None:
        return project / client.project
    if client.universal:
        return _expanded(f"~/{UNIVERSAL}") if client.personal else None
    existing = [path for path in map(_expanded, client.personal) if path.parent.is_dir()]
    return next(iter(existing or map(_expanded, client.personal)), None)


def _is_detected(client: Client, project: Path) -> bool:
    """Return whether there are traces of a client on this machine."""
    return any(
        os.path.exists(project / trace if trace.startswith("./") else _expanded(trace))
        for trace in client.evidence
    )
