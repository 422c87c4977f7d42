"""Import, export, mirrors, verification of digests and removal of orphans."""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Container, Iterator
from pathlib import Path
from typing import IO, Any

from skillkit.core.disk import sync_folder, temporary_beside
from skillkit.core.foreign_json import parse_json
from skillkit.core.limits import JSON_BYTES
from skillkit.install.exceptions import InstallError
from skillkit.install.fetch import SkillSelector, fetch
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.source import Access
from skillkit.install.sources.unpack import unpack
from skillkit.install.tree import SkillTree, TreeLimits
from skillkit.registry.access import OPERATOR, PUBLISH, Caller, Grant
from skillkit.registry.exceptions import MissingError, RegistryServerError, RejectedError
from skillkit.registry.publishing import Publication, Publisher
from skillkit.registry.repository import add_files
from skillkit.registry.schema import KEPT, MIGRATIONS, MIRRORED
from skillkit.registry.store import Registry

HEAD = "skillkit-registry.json"
_BATCH = 500
_FIXED = {
    "owner": ("name", "folded"),
    "skill": ("owner", "name"),
    "version": ("skill", "number", "digest", "git", "tar", "zip", "files"),
}
"""Columns that a mirror never changes."""
_KEYS = {"owner": "folded", "skill": "owner, name", "version": "skill, number"}


def import_source(
    publisher: Publisher, owner: str, source: str, *, skills: tuple[str, ...] = (), ref: str | None = None
) -> tuple[list[Publication], list[tuple[str, str]]]:
    """Publish the skills of any source that `skill add` supports, each held like an upload.

    Return the publications, and the skipped paths with their reasons.
    """
    if publisher.registry.owner(owner) is None:
        raise MissingError(f"No owner '{owner}'. To create it: agent registry owner add {owner}")
    caller = Caller("import", (Grant(PUBLISH),))
    parsed = parse_source(source, ref=ref)
    wanted = SkillSelector(skills, everything=not skills)
    with parsed.open(Access()) as opened:
        fetched = fetch(opened, parsed.path, wanted, TreeLimits())
    done, left_out = [], [(left.path, left.reason) for left in fetched.left_out]
    for skill in fetched.skills:
        try:
            name = skill.metadata.canonical_name
            done.append(publisher.publish_tree(caller, owner, skill.tree, skill=name))
        except RegistryServerError as error:
            left_out.append((skill.skill.name, str(error)))
    return done, left_out


def export(registry: Registry, file: Path, since: float | None = None) -> tuple[int, int]:
    """Write a snapshot of rows and blobs to a file, also while serving; return how many of each.

    With `since`, for a mirror: only blobs of later versions, and no tokens and events.
    """
    tables = KEPT if since is None else MIRRORED
    database = registry.database
    temporary = temporary_beside(file)
    rows = 0
    blobs: set[str] = set()
    try:
        with tarfile.open(temporary, "w") as archive, database.reading():
            head = {"format": 1, "schema": len(MIGRATIONS), "since": since}
            _add(archive, HEAD, json.dumps(head).encode())
            for table in tables:
                with tempfile.TemporaryFile() as lines:
                    for row in _all_rows(registry, table):
                        rows += 1
                        if row["created" if table != "event" else "time"] >= (since or 0):
                            blobs |= {row[name] for name in ("tar", "zip") if name in row}
                        lines.write(json.dumps(row).encode() + b"\n")
                    _add_file(archive, f"rows/{table}.jsonl", lines)
            for name in sorted(blobs):  # a blob that a row names is never deleted
                _add(archive, f"blobs/{name}", registry.blobs.get(name))
        temporary.replace(file)
        sync_folder(file.absolute().parent)
    finally:
        temporary.unlink(missing_ok=True)
    return rows, len(blobs)


def _all_rows(registry: Registry, table: str) -> Iterator[dict[str, Any]]:
    last = 0
    while rows := registry.database.rows(
        f"SELECT * FROM {table} WHERE id > ? ORDER BY id LIMIT {_BATCH}", last
    ):
        yield from map(dict, rows)
        last = rows[-1]["id"]


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def _add_file(archive: tarfile.TarFile, name: str, content: IO[bytes]) -> None:
    info = tarfile.TarInfo(name)
    info.size = content.tell()
    content.seek(0)
    archive.addfile(info, content)


def is_export(file: Path) -> bool:
    """Return whether a file was written by `export`."""
    try:
        with tarfile.open(file, "r:") as archive:
            first = archive.next()
            return first is not None and first.name == HEAD
    except (OSError, tarfile.TarError):
        return False


def import_export(registry: Registry, file: Path) -> tuple[int, int]:
    """Fill an empty registry from an export, or update a mirror, in one transaction.

    Return how many rows and blobs were read.
    """
    database = registry.database
    rows = blobs = 0
    new: set[int] = set()
    with tarfile.open(file, "r:") as archive, database.writing():
        head = _head(archive)
        filled = database.row("SELECT id FROM owner LIMIT 1") or database.row("SELECT id FROM event LIMIT 1")
        if head.get("since") is None and filled:
            raise RejectedError("The registry is not empty; a whole export is imported into a new database")
        tables = KEPT if head.get("since") is None else MIRRORED
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            table = member.name.removeprefix("rows/").removesuffix(".jsonl")
            if content is None or not (member.name.startswith("blobs/") or table in tables):
                if member.name == HEAD:
                    continue
                raise RejectedError(f"'{member.name[:80]}' is not part of an export")
            if member.name.startswith("blobs/"):
                if registry.blobs.put(content.read()) != member.name.removeprefix("blobs/"):
                    raise RejectedError(f"{member.name} does not match the digest in its name")
                blobs += 1
                continue
            known = database.columns(table)
            for line in content:
                row = parse_json(line)
                if not isinstance(row, dict) or set(row) - known or not isinstance(row.get("id"), int):
                    raise RejectedError(f"A row of {table} has unknown columns")
                if _keep(registry, table, row) and table == "version":
                    new.add(row["id"])
                rows += 1
            database.keep_ids(table)
        for skill in database.rows("SELECT id FROM skill"):
            registry.set_latest(skill["id"])
        if problem := next(verify(registry, new), None):
            raise RejectedError(f"{problem}. Export again with an earlier --since.")
        if head.get("since") is not None:
            registry.record(OPERATOR, "mirrored", None, file.name, f"{len(new)} new versions")
    return rows, blobs


def _keep(registry: Registry, table: str, row: dict[str, Any]) -> bool:
    """Insert a row and return True, or update the one of the same id except for its fixed columns."""
    database = registry.database
    present = database.row(f"SELECT * FROM {table} WHERE id = ?", row["id"])
    key = _KEYS.get(table, "id")
    same = [row.get(name) for name in key.split(", ")]
    twin = database.row(f"SELECT id FROM {table} WHERE ({key}) = ({', '.join('?' * len(same))})", *same)
    if (twin and twin["id"] != row["id"]) or (
        present and any(present[name] != row.get(name) for name in _FIXED[table])
    ):
        raise RejectedError(f"The mirror has rows of its own: {table} {row['id']} differs")
    if present is None:
        database.insert(table, row)
        return True
    columns = [name for name in row if name not in ("id", "latest", "downloads")]
    changes = ", ".join(f"{name} = ?" for name in columns)
    database.run(f"UPDATE {table} SET {changes} WHERE id = ?", *(row[name] for name in columns), row["id"])
    return False


def _head(archive: tarfile.TarFile) -> dict[str, Any]:
    first = archive.next()
    content = archive.extractfile(first) if first is not None and first.name == HEAD else None
    head = parse_json(content.read(JSON_BYTES)) if content else None
    if not isinstance(head, dict) or head.get("format") != 1 or head.get("schema", 0) > len(MIGRATIONS):
        raise RejectedError("The export was written by a newer skillkit. Update skillkit.")
    return head


def verify(registry: Registry, versions: Container[int] | None = None) -> Iterator[str]:
    """Check the digests of every archive and file, or of some versions; yield the problems."""
    titles = (
        "SELECT version.id, number, digest, git, tar, zip, files,"
        " skill.name AS skill, owner.name AS owner FROM version JOIN skill ON skill.id = version.skill"
        " JOIN owner ON owner.id = skill.owner WHERE version.id > ? ORDER BY version.id LIMIT 100"
    )
    last = 0
    while rows := registry.database.rows(titles, last):
        last = rows[-1]["id"]
        for row in rows:
            if versions is not None and row["id"] not in versions:
                continue
            title = f"{row['owner']}/{row['skill']}@{row['number']}"
            for form in ("tar", "zip"):
                try:
                    data = registry.blobs.get(row[form])
                    if hashlib.sha256(data).hexdigest() != row[form]:
                        yield f"{title}: the {form} archive does not match its digest {row[form]}"
                        continue
                    tree = SkillTree(unpack(data, title))
                except (MissingError, InstallError) as error:
                    yield f"{title}: {error}"
                    continue
                if tree.digest.digest != row["digest"] or add_files({}, tree.files) != row["git"]:
                    yield f"{title}: the files of the {form} archive do not match the digest {row['digest']}"
                listed = {file["path"]: file["sha256"] for file in parse_json(row["files"])}
                if listed != {path: each.sha256 for path, each in tree.digest.files.items()}:
                    yield f"{title}: the files of the {form} archive differ from the listed ones"


def remove_orphans(registry: Registry) -> int:
    """Delete blobs that no version references, left by a conflict or a kill; return how many.

    Each is deleted inside a write transaction; a publication stores its blobs again inside its own.
    """
    removed = registry.blobs.remove_unfinished()
    for name in list(registry.blobs.names()):
        if _is_referenced(registry, name):
            continue
        with registry.database.writing():
            if not _is_referenced(registry, name):
                registry.blobs.remove(name)
                removed += 1
    return removed


def _is_referenced(registry: Registry, blob: str) -> bool:
    found = registry.database.row("SELECT id FROM version WHERE tar = ? OR zip = ? LIMIT 1", blob, blob)
    return found is not None
