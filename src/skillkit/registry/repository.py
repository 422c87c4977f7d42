"""The skills of an owner as a git repository, generated from the database and cached in memory."""

import hashlib
import json
import struct
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

from skillkit.core.limits import MIB
from skillkit.install.tree import TreeFile
from skillkit.registry.access import Caller, Purpose
from skillkit.registry.exceptions import MissingError, TooLargeError
from skillkit.registry.store import Registry, SkillRow, VersionRow

MAIN = "refs/heads/main"
PACK_BYTES = 256 * MIB
CACHED_PACK_BYTES = 64 * MIB
_FOLDER = "40000"
_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_COMMITTER = "skill registry <registry@localhost>"
Objects = dict[str, tuple[str, bytes]]
"""Kind and content by object id."""


def tag_of(skill: SkillRow, version: VersionRow) -> str:
    return f"{skill.name}-v{version.number}"


def marketplace(name: str, plugins: Iterable[tuple[SkillRow, VersionRow]], url: str = "") -> dict[str, Any]:
    """The list of plugins as Claude Code reads it; with the `url` of the repository outside of it."""
    entries = []
    for skill, version in plugins:
        path = f"plugins/{skill.name}"
        source: object = f"./{path}"
        if url:
            source = {"source": "git-subdir", "url": url, "path": path, "ref": tag_of(skill, version)}
        about = {"name": skill.name, "description": skill.description, "version": version.number}
        entries.append({**about, "source": source})
    return {"name": name, "owner": {"name": name}, "plugins": entries}


Plugins = Sequence[tuple[SkillRow, VersionRow]]


class GitCache:
    """Recent packs by their commits, which never change; one is made at a time."""

    def __init__(self, pack_bytes: int = CACHED_PACK_BYTES) -> None:
        self._pack_bytes = pack_bytes
        self._packs: OrderedDict[frozenset[str], bytes] = OrderedDict()
        self._lock = Lock()

    def pack(self, commits: frozenset[str], make: Callable[[], bytes]) -> bytes:
        with self._lock:
            found = self._packs.pop(commits, None) or make()
            self._packs[commits] = found
            while sum(map(len, self._packs.values())) > self._pack_bytes:
                self._packs.popitem(last=False)
            return found


class OwnerRepository:
    """A commit without parents for every published version, and one of all that are the latest.

    Their ids are made of the tree ids that versions have had since they were published: no archive is read.
    """

    def __init__(self, registry: Registry, cache: GitCache, caller: Caller, owner: str) -> None:
        """Raises MissingError for an owner whom the caller may not read."""
        self._registry, self._cache, self._caller = registry, cache, caller
        self.name = registry.readable_owner(caller, owner)["name"]
        self.skills = registry.skills_of(caller, owner)

    def latest(self) -> list[tuple[SkillRow, VersionRow]]:
        return self._registry.latest(self._caller, self.skills)

    def refs(self, prefixes: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
        """Yield every ref that has one of the prefixes, and its commit."""
        for name, plugins in self._refs(tuple(prefixes) or ("",)):
            yield name, self._commit({}, name, plugins)

    def pack(self, wanted: frozenset[str]) -> bytes:
        """Return a pack of these commits. Raises MissingError for one that no ref has, TooLargeError."""
        commits: Objects = {}
        versions: dict[int, VersionRow] = {}
        missing = set(wanted)
        for name, plugins in self._refs(("",)):
            objects: Objects = {}
            if (commit := self._commit(objects, name, plugins)) in wanted:
                missing.discard(commit)
                commits |= objects
                versions |= {version.id: version for _, version in plugins}
        if missing:
            raise MissingError(f"not our ref {min(missing)[:40]}")
        if sum(file["size"] for version in versions.values() for file in version.files) > PACK_BYTES:
            raise TooLargeError("The repository is too large to be sent at once; clone one tag of it")

        def batches() -> Iterator[Objects]:
            yield commits
            for version in versions.values():
                objects: Objects = {}
                add_files(objects, self._registry.files(version))
                yield objects

        return self._cache.pack(wanted, lambda: pack(batches()))

    def _refs(self, starts: tuple[str, ...]) -> Iterator[tuple[str, Plugins]]:
        if MAIN.startswith(starts) or "HEAD".startswith(starts):
            yield MAIN, self.latest()
        for skill in self.skills:
            for version in self._registry.versions(self._caller, skill, Purpose.LIST):
                name = f"refs/tags/{tag_of(skill, version)}"
                if name.startswith(starts):
                    yield name, [(skill, version)]

    def _commit(self, objects: Objects, name: str, plugins: Plugins) -> str:
        """Add a commit and its objects, except those of the skills' files, and return its id."""
        folders: dict[str, Any] = {}
        for skill, version in plugins:
            # Not the description of the skill: that one changes with the next version, and a tag must not.
            described = str(version.checks.get("description", ""))
            about = {"name": skill.name, "description": described, "version": version.number}
            folders[skill.name] = {
                ".claude-plugin": {"plugin.json": _json(objects, about)},
                "skills": {skill.name: (_FOLDER, version.git)},
            }
        top: dict[str, Any] = {"plugins": folders} if folders else {}
        if name == MAIN:
            listed = _json(objects, marketplace(self.name, plugins))
            top[".claude-plugin"], title = {"marketplace.json": listed}, "Latest versions"
        else:
            ((skill, version),) = plugins
            title = f"{skill.title} {version.number}"
        when = max((version.published or 0 for _, version in plugins), default=0)
        who = f"{_COMMITTER} {int(when)} +0000"
        text = f"tree {_add_tree(objects, top)}\nauthor {who}\ncommitter {who}\n\n{title}\n"
        return _add(objects, "commit", text.encode())


def add_files(objects: Objects, files: Mapping[str, TreeFile]) -> str:
    """Add the tree of a skill's files and return its id."""
    top: dict[str, Any] = {}
    for path, file in files.items():
        *folders, name = path.split("/")
        place = top
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = ("100755" if file.executable else "100644", _add(objects, "blob", file.content))
    return _add_tree(objects, top)


def _json(objects: Objects, content: object) -> tuple[str, str]:
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return "100644", _add(objects, "blob", text.encode())


def _add_tree(objects: Objects, folder: Mapping[str, Any]) -> str:
    entries = []
    for name, entry in folder.items():
        mode, child = (_FOLDER, _add_tree(objects, entry)) if isinstance(entry, dict) else entry
        order = f"{name}/" if mode == _FOLDER else name
        entries.append((order.encode(), f"{mode} {name}\0".encode() + bytes.fromhex(child)))
    return _add(objects, "tree", b"".join(line for _, line in sorted(entries)))


def _add(objects: Objects, kind: str, content: bytes) -> str:
    name = hashlib.sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
    objects[name] = kind, content
    return name


def pack(batches: Iterable[Objects]) -> bytes:
    """A pack of git with all objects; one batch of them is in memory."""
    packed, names = bytearray(b"PACK" + struct.pack(">II", 2, 0)), set[str]()
    for objects in batches:
        for name, (kind, content) in objects.items():
            if name in names:
                continue
            names.add(name)
            size = len(content)
            byte = _KINDS[kind] << 4 | size & 15
            size >>= 4
            while size:
                packed.append(byte | 128)
                byte, size = size & 127, size >> 7
            packed.append(byte)
            packed += zlib.compress(content)
    packed[8:12] = struct.pack(">I", len(names))
    packed += hashlib.sha1(packed, usedforsecurity=False).digest()
    return bytes(packed)
