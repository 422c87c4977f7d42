"""Taking skills in from elsewhere, taking the whole registry along, and checking every digest."""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from skillkit.core.disk import sync_folder, temporary_beside
from skillkit.core.foreign_json import parse_json
from skillkit.core.limits import JSON_BYTES
from skillkit.install.exceptions import InstallError
from skillkit.install.fetch import Wanted, fetch
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.source import Access
from skillkit.install.sources.unpack import unpack
from skillkit.install.tree import SkillTree, TreeLimits
from skillkit.registry.access import Caller, Grant
from skillkit.registry.exceptions import MissingError, RegistryServerError, RejectedError
from skillkit.registry.publishing import Publication, Publisher
from skillkit.registry.schema import KEPT, MIGRATIONS
from skillkit.registry.store import Registry

HEAD = "skillkit-registry.json"
_BATCH = 500


def import_source(
    publisher: Publisher, owner: str, source: str, *, skills: tuple[str, ...] = (), ref: str | None = None
) -> tuple[list[Publication], list[tuple[str, str]]]:
    """Publish the skills of any source that `skill add` knows, each held like an upload.

    Return what came of each, and what was left out with the reason.
    """
    caller = Caller("import", (Grant("publish"),))
    parsed = parse_source(source, ref=ref)
    wanted = Wanted(skills, everything=not skills)
    with parsed.open(Access()) as opened:
        fetched = fetch(opened, parsed.path, wanted, TreeLimits())
    done, left_out = [], [(left.path, left.reason) for left in fetched.left_out]
    for skill in fetched.skills:
        try:
            done.append(publisher.publish_tree(caller, owner, skill.tree))
        except RegistryServerError as error:
            left_out.append((skill.name, str(error)))
    return done, left_out


def export(registry: Registry, file: Path) -> tuple[int, int]:
    """Write rows and blobs of one moment into a file; return how many of each. Serving goes on meanwhile."""
    database = registry.database
    temporary = temporary_beside(file)
    rows = 0
    blobs: set[str] = set()
    try:
        with tarfile.open(temporary, "w") as archive, database.reading():
            _add(archive, HEAD, json.dumps({"format": 1, "schema": len(MIGRATIONS)}).encode())
            for table in KEPT:
                with tempfile.TemporaryFile() as lines:
                    for row in _all_rows(registry, table):
                        rows += 1
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
    """Whether a file was written by `export`."""
    try:
        with tarfile.open(file, "r:") as archive:
            first = archive.next()
            return first is not None and first.name == HEAD
    except (OSError, tarfile.TarError):
        return False


def import_export(registry: Registry, file: Path) -> tuple[int, int]:
    """Fill an empty registry from an export; everything comes or nothing. Return rows and blobs."""
    database = registry.database
    if database.row("SELECT id FROM owner LIMIT 1") or database.row("SELECT id FROM event LIMIT 1"):
        raise RejectedError("The registry is not empty; an export is imported into a new database")
    rows = blobs = 0
    with tarfile.open(file, "r:") as archive, database.writing():
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if content is None:
                raise RejectedError(f"'{member.name[:80]}' does not belong into an export")
            if member.name == HEAD:
                _check_head(content.read(JSON_BYTES))
            elif member.name.startswith("blobs/"):
                if registry.blobs.put(content.read()) != member.name.removeprefix("blobs/"):
                    raise RejectedError(f"{member.name} does not have the digest of its name")
                blobs += 1
            elif member.name in {f"rows/{table}.jsonl" for table in KEPT}:
                table = member.name.removeprefix("rows/").removesuffix(".jsonl")
                for line in content:
                    row = parse_json(line)
                    known = {each["name"] for each in database.rows(f"PRAGMA table_info({table})")}
                    if not isinstance(row, dict) or set(row) - known:
                        raise RejectedError(f"A row of {table} has columns that are not known")
                    database.insert(table, row)
                    rows += 1
        for skill in database.rows("SELECT id FROM skill"):
            registry.set_latest(skill["id"])
    return rows, blobs


def _check_head(data: bytes) -> None:
    head = parse_json(data)
    if not isinstance(head, dict) or head.get("format") != 1 or head.get("schema", 0) > len(MIGRATIONS):
        raise RejectedError("The export was written by a newer skillkit. Update skillkit.")


def verify(registry: Registry) -> Iterator[str]:
    """Check the digest of every archive and file; yield what is wrong."""
    titles = (
        "SELECT version.id, version.number, version.digest, version.tar, version.zip, version.files,"
        " skill.name AS skill, owner.name AS owner FROM version JOIN skill ON skill.id = version.skill"
        " JOIN owner ON owner.id = skill.owner WHERE version.id > ? ORDER BY version.id LIMIT 100"
    )
    last = 0
    while rows := registry.database.rows(titles, last):
        last = rows[-1]["id"]
        for row in rows:
            title = f"{row['owner']}/{row['skill']}@{row['number']}"
            for form in ("tar", "zip"):
                try:
                    data = registry.blobs.get(row[form])
                    if hashlib.sha256(data).hexdigest() != row[form]:
                        yield f"{title}: the {form} archive does not have its digest {row[form]}"
                        continue
                    tree = SkillTree(unpack(data, title))
                except (MissingError, InstallError) as error:
                    yield f"{title}: {error}"
                    continue
                if tree.digest.digest != row["digest"]:
                    yield f"{title}: the files of the {form} archive do not have the digest {row['digest']}"
                listed = {file["path"]: file["sha256"] for file in parse_json(row["files"])}
                if listed != {path: each.sha256 for path, each in tree.digest.files.items()}:
                    yield f"{title}: the files of the {form} archive are not those that are listed"
