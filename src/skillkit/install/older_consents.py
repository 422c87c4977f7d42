"""The consents that were kept in four files before there was one.

trust.json          {"version": 1, "digests": {"sha256:…": {"name": …, "path": …, "granted_at": …}}}
approvals.json      {"version": 1, "digests": {"sha256:…": {"skill": …, "granted_at": …}}}
mcp-consents.json   {"server": {"uri": "sha256:…"}}
skills/registry.json   "trusted_digest" in the record of each version
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from skillkit.core.disk import sync_folder
from skillkit.core.foreign_json import read_json

_FORMAT = 1
Record = dict[str, Any]


class OlderConsents:
    """Reads the older files; what is in them becomes the first content of consents.json."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.registry = home / "skills" / "registry.json"
        self._readers: dict[Path, Callable[[Any], Iterator[Record]]] = {
            home / "trust.json": _from_trust,
            home / "approvals.json": _from_approvals,
            home / "mcp-consents.json": _from_mcp,
        }

    @property
    def present(self) -> bool:
        return any(os.path.lexists(path) for path in (*self._readers, self.registry))

    def read(self, notice: Callable[[str], object]) -> list[Record]:
        """Return the records of all older files; one that cannot be read is named and adds nothing."""
        records: dict[tuple[str, ...], Record] = {}
        for path, reader in self._readers.items():
            if not os.path.lexists(path):
                continue
            try:
                found = list(reader(read_json(path)))
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                notice(
                    f"{path} cannot be read ({type(error).__name__}) and is kept aside; nothing in it "
                    "counts: approve again what you trust."
                )
                continue
            records.update({_key(record): record for record in found})
        try:
            found = list(_from_registry(read_json(self.registry)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            found = []  # the registry repairs itself, and says so
        return [*records.values(), *(record for record in found if _key(record) not in records)]

    def put_aside(self) -> None:
        """Give the older files a name under which nobody reads them any more."""
        for path in self._readers:
            if os.path.lexists(path):
                os.replace(path, path.with_name(f"{path.name}.carried-over"))
        sync_folder(self.home)


def _key(record: Record) -> tuple[str, ...]:
    return (record["kind"], record["digest"], record["server"], record["place"] if record["server"] else "")


def _record(kind: str, digest: str, skill: str, *, place: str = "", server: str = "", at: str = "") -> Record:
    texts = (digest, skill, place, server, at)
    if not all(isinstance(text, str) for text in texts) or not digest:
        raise TypeError("a record with something other than text in it")
    return {
        "kind": kind,
        "digest": digest,
        "skill": skill,
        "place": place,
        "server": server,
        "granted_at": at,
    }


def _digests(data: Any) -> dict[str, Any]:
    if data["version"] != _FORMAT:
        raise ValueError("of another version")
    return dict(data["digests"])


def _from_trust(data: Any) -> Iterator[Record]:
    for digest, entry in _digests(data).items():
        yield _record("use", digest, entry["name"], place=entry["path"], at=entry.get("granted_at", ""))


def _from_approvals(data: Any) -> Iterator[Record]:
    for digest, entry in _digests(data).items():
        yield _record("run", digest, entry["skill"], at=entry.get("granted_at", ""))


def _from_mcp(data: Any) -> Iterator[Record]:
    for server, skills in data.items():
        for uri, digest in skills.items():
            yield _record("remote", digest, uri, place=uri, server=server)


def _from_registry(data: Any) -> Iterator[Record]:
    if data["version"] != _FORMAT:
        return
    waiting = [*data["skills"].values(), *(item["skill"] for item in data.get("removed", ()))]
    while waiting:
        version = waiting.pop()
        waiting += version.get("previous", ())
        if version.get("trusted") is True and version.get("trusted_digest") == version["digest"]:
            yield _record("use", version["digest"], version["name"], at=version.get("installed_at", ""))
