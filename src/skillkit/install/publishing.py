"""Publishing skills on a site: an index with digests that every client of the format can install from."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.codec import encode
from skillkit.core.disk import make_folder, replace_file
from skillkit.core.text import one_line
from skillkit.install.exceptions import InstallError, NameConflictError
from skillkit.install.fetch import Wanted, fetch
from skillkit.install.sources.folder import FolderSource
from skillkit.install.sources.layout import LeftOut
from skillkit.install.sources.site_index import INDEXES, SCHEMA
from skillkit.install.sources.source import Access
from skillkit.install.tree import SKILL_FILE, SkillTree, TreeLimits

MAX_DESCRIPTION = 1024


@dataclass(frozen=True, slots=True)
class PublishedSkill:
    """One entry of the index that was written."""

    name: str
    url: str
    digest: str


def publish(skills: Path, site: Path) -> tuple[list[PublishedSkill], tuple[LeftOut, ...]]:
    """Write every skill beneath `skills` and the index into `site`, the folder that the site serves.

    Return what was published and what was left out. The index is written last: it names only what is there.
    """
    with FolderSource(skills.absolute()).open(Access()) as opened:
        fetched = fetch(opened, "", Wanted(everything=True), TreeLimits())
    if not fetched.skills:
        raise InstallError(f"Nothing to publish: no skill beneath {skills} can be used")
    index = site / INDEXES[0].strip("/")
    make_folder(index.parent)
    entries: list[dict[str, str]] = []
    for skill in sorted(fetched.skills, key=lambda skill: skill.metadata.canonical_name):
        name = skill.metadata.canonical_name
        if any(entry["name"] == name for entry in entries):
            raise NameConflictError(f"Two skills are called '{name}'; a site can publish one")
        file, data, kind = _artifact(name, skill.tree)
        make_folder((index.parent / file).parent)
        replace_file(index.parent / file, data)
        entries.append(
            {
                "name": name,
                "type": kind,
                "description": one_line(skill.metadata.description)[:MAX_DESCRIPTION],
                "url": file,
                "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            }
        )
    content = json.dumps({"$schema": SCHEMA, "skills": entries}, indent=2, ensure_ascii=False) + "\n"
    replace_file(index, content.encode())
    published = [PublishedSkill(entry["name"], entry["url"], entry["digest"]) for entry in entries]
    return published, fetched.left_out


def _artifact(name: str, tree: SkillTree) -> tuple[str, bytes, str]:
    """The file of a skill beneath the index, its bytes and the type in the index."""
    if set(tree.files) == {SKILL_FILE}:
        return f"{name}/{SKILL_FILE}", tree.skill_file, "skill-md"
    return f"{name}.tar.gz", pack(tree), "archive"


def pack(tree: SkillTree) -> bytes:
    """The files as .tar.gz, the same bytes each time, so that an unchanged skill keeps its digest."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, file in sorted(tree.files.items()):
            info = tarfile.TarInfo(path)
            info.size = len(file.content)
            info.mode = 0o755 if file.executable else 0o644
            archive.addfile(info, io.BytesIO(file.content))
    return gzip.compress(plain.getvalue(), mtime=0)


def published_view(published: Sequence[PublishedSkill]) -> list[dict[str, str]]:
    """Return what programs learn of it."""
    return [encode(skill) for skill in published]
