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
from skillkit.install.sources.unpack import unpack
from skillkit.registry.access import Caller, Purpose
from skillkit.registry.exceptions import MissingError, TooLargeError
from skillkit.registry.store import Registry, SkillRow, VersionRow

MAIN = "refs/heads/main"
PACK_BYTES = 256 * MIB
CACHED_PACK_BYTES = 64 * MIB
CACHED_COMMITS = 10_000
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
    """Commit ids by the versions in them, and recent packs by their commits: neither ever changes."""

    def __init__(self, pack_bytes: int = CACHED_PACK_BYTES) -> None:
        self._pack_bytes = pack_bytes
        self._commits: OrderedDict[object, str] = OrderedDict()
        self._packs: OrderedDict[frozenset[str], bytes] = OrderedDict()
        self._lock = Lock()

    def commit(self, key: object, make: Callable[[], str]) -> str:
        with self._lock:
            found = self._commits.get(key)
        found = found or make()
        with self._lock:
            self._commits[key] = found
            self._commits.move_to_end(key)
            while len(self._commits) > CACHED_COMMITS:
                self._commits.popitem(last=False)
        return found

    def pack(self, commits: frozenset[str], make: Callable[[], bytes]) -> bytes:
        with self._lock:
            found = self._packs.get(commits)
        found = make() if found is None else found
        if len(found) > self._pack_bytes:
            return found
        with self._lock:
            self._packs[commits] = found
            self._packs.move_to_end(commits)
            while sum(map(len, self._packs.values())) > self._pack_bytes:
                self._packs.popitem(last=False)
        return found


class OwnerRepository:
    """A commit without parents for every published version, and one of all that are the latest."""

    def __init__(self, registry: Registry, cache: GitCache, caller: Caller, owner: str) -> None:
        """Raises MissingError for an owner whom the caller may not read."""
        self._registry, self._cache, self._caller = registry, cache, caller
        self.name = registry.readable_owner(caller, owner)["name"]
        self.skills = registry.skills_of(caller, owner)

    def latest(self) -> list[tuple[SkillRow, VersionRow]]:
        return [
            (skill, self._registry.version(self._caller, skill, "", Purpose.LIST)) for skill in self.skills
        ]

    def refs(self, prefixes: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
        """Yield every ref that has one of the prefixes, and its commit."""
        for name, plugins in self._refs(tuple(prefixes) or ("",)):
            yield name, self._id(name, plugins)

    def pack(self, wanted: frozenset[str]) -> bytes:
        """Return a pack of these commits. Raises MissingError for one that no ref has, TooLargeError."""
        found = {}
        for name, plugins in self._refs(("",)):
            if (commit := self._id(name, plugins)) in wanted:
                found[commit] = name, plugins
            if len(found) == len(wanted):
                break
        if missing := sorted(wanted - set(found)):
            raise MissingError(f"not our ref {missing[0][:40]}")

        def make() -> bytes:
            objects: Objects = {}
            for name, plugins in found.values():
                objects |= self._commit(name, plugins)[1]
            return pack(objects)

        return self._cache.pack(wanted, make)

    def _refs(self, starts: tuple[str, ...]) -> Iterator[tuple[str, Plugins]]:
        if MAIN.startswith(starts) or "HEAD".startswith(starts):
            yield MAIN, self.latest()
        for skill in self.skills:
            for version in self._registry.versions(self._caller, skill, Purpose.LIST):
                name = f"refs/tags/{tag_of(skill, version)}"
                if name.startswith(starts):
                    yield name, [(skill, version)]

    def _id(self, name: str, plugins: Plugins) -> str:
        key = self.name, name, tuple(version.id for _, version in plugins)
        return self._cache.commit(key, lambda: self._commit(name, plugins)[0])

    def _commit(self, name: str, plugins: Plugins) -> tuple[str, Objects]:
        files: dict[str, tuple[bool, bytes]] = {}
        for skill, version in plugins:
            files |= self._plugin(skill, version)
        when = max((version.published or 0 for _, version in plugins), default=0)
        if name == MAIN:
            listed = _json(marketplace(self.name, plugins))
            return _commit(
                {**files, ".claude-plugin/marketplace.json": (False, listed)}, "Latest versions", when
            )
        ((skill, version),) = plugins
        return _commit(files, f"{skill.title} {version.number}", when)

    def _plugin(self, skill: SkillRow, version: VersionRow) -> dict[str, tuple[bool, bytes]]:
        # The description of this version: that of the skill changes with the next one, and a tag must not.
        described = str(version.checks.get("description", ""))
        about = {"name": skill.name, "description": described, "version": version.number}
        files = unpack(self._registry.blobs.get(version.tar), "the archive")
        inside = f"plugins/{skill.name}"
        return {
            f"{inside}/.claude-plugin/plugin.json": (False, _json(about)),
            **{
                f"{inside}/skills/{skill.name}/{path}": (x.executable, x.content) for path, x in files.items()
            },
        }


def _json(content: object) -> bytes:
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"


def _commit(files: Mapping[str, tuple[bool, bytes]], title: str, when: float) -> tuple[str, Objects]:
    objects: Objects = {}
    top: dict[str, Any] = {}
    for path, (executable, content) in files.items():
        *folders, name = path.split("/")
        place = top
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = ("100755" if executable else "100644", _add(objects, "blob", content))
    tree = _add_tree(objects, top)
    who = f"{_COMMITTER} {int(when)} +0000"
    text = f"tree {tree}\nauthor {who}\ncommitter {who}\n\n{title}\n"
    return _add(objects, "commit", text.encode()), objects


def _add_tree(objects: Objects, folder: Mapping[str, Any]) -> str:
    entries = []
    for name, entry in folder.items():
        if isinstance(entry, dict):
            entries.append((f"{name}/".encode(), f"40000 {name}", _add_tree(objects, entry)))
        else:
            entries.append((name.encode(), f"{entry[0]} {name}", entry[1]))
    content = b"".join(head.encode() + b"\0" + bytes.fromhex(child) for _, head, child in sorted(entries))
    return _add(objects, "tree", content)


def _add(objects: Objects, kind: str, content: bytes) -> str:
    name = hashlib.sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
    objects[name] = kind, content
    return name


def pack(objects: Objects) -> bytes:
    """A pack of git with all objects. Raises TooLargeError."""
    if sum(len(content) for _, content in objects.values()) > PACK_BYTES:
        raise TooLargeError("The repository is too large to be sent at once; clone one tag of it")
    packed = bytearray(b"PACK" + struct.pack(">II", 2, len(objects)))
    for kind, content in objects.values():
        size = len(content)
        byte = _KINDS[kind] << 4 | size & 15
        size >>= 4
        while size:
            packed.append(byte | 128)
            byte, size = size & 127, size >> 7
        packed.append(byte)
        packed += zlib.compress(content)
    return bytes(packed + hashlib.sha1(packed, usedforsecurity=False).digest())
