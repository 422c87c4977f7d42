"""Read a site's index: 0.2.0 with digests checked, 0.1.0, and other published forms."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from skillkit.core.foreign_json import parse_json
from skillkit.core.limits import DOWNLOAD_BYTES, INDEX_BYTES, INDEX_SKILLS
from skillkit.core.text import escape_hidden, one_line
from skillkit.install.exceptions import InstallError, NetworkError, NotThereError, SourceError
from skillkit.install.paths import installable
from skillkit.install.sources.download import download
from skillkit.install.sources.files import OpenFiles
from skillkit.install.sources.layout import SKILL_FILE, Listing, Skipped, other_spelling
from skillkit.install.sources.source import Access, OpenPerSkill, Source
from skillkit.install.sources.unpack import unpack
from skillkit.install.tree import SkillTree, TreeFile, TreeLimits, refuse_large

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
INDEXES = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")
_ARCHIVES = (".zip", ".tar.gz", ".tgz")
_PLACES = ("url", "path", "href", "location", "skill")
_OTHER_FORMAT = "the site's index does not follow the format 0.2.0; it was read leniently"
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SiteSkill:
    """One entry of an index that can be fetched."""

    name: str
    description: str
    url: str = ""
    """Of SKILL.md or an archive."""
    files: tuple[str, ...] = ()
    """Older format: files are below the folder of that name."""
    digest: str = ""
    """`sha256:…` of the content at `url`; empty if the site gives none."""
    version: str = ""
    """Of a registry, which never changes what has a number."""
    tree: str = ""
    """`sha256:…` of the files, as a registry gives it."""


@dataclass(frozen=True, slots=True)
class SiteIndex:
    """The entries of an index, unusable ones, and deviations from the format."""

    skills: Mapping[str, SiteSkill]
    left_out: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


def read_index(data: bytes, url: str) -> SiteIndex:
    """Parse the index at `url`. Raises SourceError if it is not an index."""
    shown = escape_hidden(url)
    try:
        content = parse_json(data)
    except ValueError as error:
        raise SourceError(f"{shown} is not JSON") from error
    entries = content.get("skills") if isinstance(content, dict) else content
    if isinstance(entries, dict):
        entries = [{"name": name, **entry} for name, entry in entries.items() if isinstance(entry, dict)]
    if not isinstance(entries, list):
        raise SourceError(f"{shown} has no list of skills")
    schema = content.get("$schema") if isinstance(content, dict) else None
    is_older = schema is None and all("files" in each for each in entries if isinstance(each, dict))
    notes = () if schema == SCHEMA or is_older else (_OTHER_FORMAT,)
    skills: dict[str, SiteSkill] = {}
    left_out: list[Skipped] = []
    for number, entry in enumerate(entries[:INDEX_SKILLS]):
        found = _entry(entry, number, url)
        if isinstance(found, Skipped):
            left_out.append(found)
        elif skills.setdefault(found.name, found) is not found:
            left_out.append(Skipped(found.name, "duplicate name in the index; the first is used"))
    if len(entries) > INDEX_SKILLS:
        left_out.append(
            Skipped("", f"{len(entries) - INDEX_SKILLS:,} entries after the first {INDEX_SKILLS:,}")
        )
    return SiteIndex(skills, tuple(left_out), notes)


def _entry(entry: Any, number: int, url: str) -> SiteSkill | Skipped:
    if not isinstance(entry, dict):
        return Skipped(f"entry {number}", "it is not an object")
    name = str(entry.get("name") or entry.get("id") or "")
    if not installable(name):
        return Skipped(name[:80] or f"entry {number}", "invalid skill name")
    description = one_line(str(entry.get("description") or ""))
    listed = entry.get("files")
    files = [
        each
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, str) and _inside(each)
    ]
    if not entry.get("url") and SKILL_FILE in files:
        return SiteSkill(name, description, files=tuple(dict.fromkeys(files)))
    address = _address(entry, files, url)
    digest = _digest(entry)
    if address and digest is not None:
        version, tree = entry.get("version"), entry.get("treeDigest")
        return SiteSkill(
            name,
            description,
            address,
            digest=digest,
            version=version if isinstance(version, str) and _VERSION.fullmatch(version) else "",
            tree=tree if isinstance(tree, str) else "",
        )
    kind = escape_hidden(str(entry.get("type")))[:40]
    reason = (
        "its digest is invalid" if digest is None else f"the index does not say where it is (type {kind})"
    )
    if odd := other_spelling(files):
        reason = f"its {SKILL_FILE} is {odd}"
    return Skipped(name, reason)


def _address(entry: Mapping[str, Any], files: Sequence[str], url: str) -> str:
    """Return the address of an entry's SKILL.md or archive under any known key; empty for none."""
    found = [entry[key] for key in _PLACES if _is_text(entry.get(key))]
    found += [each for each in files if each.endswith(SKILL_FILE)]
    if not found:
        return ""
    address = urljoin(url, str(found[0]))
    path = urlsplit(address).path.lower()
    if path.endswith((".md", *_ARCHIVES)) or entry.get("type") == "skill-md":
        return address
    return f"{address.rstrip('/')}/{SKILL_FILE}" if entry.get("type") in (None, "skill") else ""


def _digest(entry: Mapping[str, Any]) -> str | None:
    """Return the digest of an entry as `sha256:…`; empty if it has none, None if it is invalid."""
    text = str(entry.get("digest") or entry.get("sha256") or "").lower().removeprefix("sha256:")
    if not text:
        return ""
    return f"sha256:{text}" if _SHA256.fullmatch(text) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _inside(path: str) -> bool:
    """Return whether a path in an index stays inside the skill's folder."""
    return bool(path.strip("/")) and not {"", ".", ".."} & set(path.split("/")) and "\\" not in path


class OpenSite(OpenPerSkill):
    """A site's index; a skill is fetched when it is wanted."""

    def __init__(self, followed: Source, url: str, access: Access) -> None:
        self.followed = followed
        self._access = access
        self._url, data = _first_index(url, access)
        self._index = read_index(data, self._url)
        versions = [skill.version for skill in self._index.skills.values()]
        whole = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.revision = versions[0] if len(versions) == 1 and versions[0] else whole
        self.notes = self._index.notes

    def listing(self, start: str = "") -> Listing:
        names = [name for name in self._index.skills if not start or name == start]
        if start and not names:
            raise InstallError(f"{self.followed.location} no longer has a skill '{escape_hidden(start)}'")
        return Listing(tuple(sorted(names)), self._index.left_out)

    def headers(self, paths: Sequence[str]) -> list[bytes]:
        return [_header(self._index.skills[path]) for path in paths]

    def read_one(self, path: str, limits: TreeLimits) -> SkillTree:
        if (skill := self._index.skills.get(path)) is None:
            raise InstallError(f"{self.followed.location} no longer has a skill '{escape_hidden(path)}'")
        return OpenFiles(self.followed, dict(self._files(skill, limits)), None).read_one("", limits)

    def _files(self, skill: SiteSkill, limits: TreeLimits) -> Iterator[tuple[str, TreeFile]]:
        if skill.files:
            refuse_large(len(skill.files), 0, limits)
            size = 0
            for name in skill.files:
                place = urljoin(self._url, f"{quote(skill.name)}/{quote(name)}")
                left = min(DOWNLOAD_BYTES, limits.max_bytes) - size
                data = download(place, self._access, limit=left, named_by=self._url)
                size += len(data)
                yield name, TreeFile(data)
            return
        data = download(skill.url, self._access, named_by=self._url)
        if skill.digest:
            digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
            if digest != skill.digest:
                raise SourceError(
                    f"{escape_hidden(skill.url)} has the digest {digest}; the index says {skill.digest}"
                )
        if urlsplit(skill.url).path.lower().endswith(_ARCHIVES):
            yield from unpack(data, escape_hidden(skill.url)).items()
        else:
            yield SKILL_FILE, TreeFile(data)

    def holds(self, path: str, tree: SkillTree) -> bool:
        """Return whether the files are the same, by the index if it has the digest of the tree."""
        skill = self._index.skills.get(path)
        if skill is not None and skill.tree:
            return skill.tree == tree.digest.digest
        return super().holds(path, tree)

    def notes_on(self, path: str) -> tuple[str, ...]:
        skill = self._index.skills[path]
        return () if skill.digest else ("the site gives no digest, so its files cannot be verified",)


def _header(skill: SiteSkill) -> bytes:
    """Return the index entry in the form of a SKILL.md, to choose by."""
    name, description = json.dumps(skill.name), json.dumps(skill.description or skill.name)
    return f"---\nname: {name}\ndescription: {description}\n---\n".encode()


def _first_index(url: str, access: Access) -> tuple[str, bytes]:
    """Return the first existing index: beneath the address, then at the top of the host."""
    parts = urlsplit(url)
    bases = list(dict.fromkeys((url.rstrip("/"), f"{parts.scheme}://{parts.netloc}")))
    for index in INDEXES:
        for base in bases:
            try:
                return f"{base}{index}", download(f"{base}{index}", access, limit=INDEX_BYTES)
            except NotThereError:
                continue
            except NetworkError:
                if (index, base) == (INDEXES[-1], bases[-1]):
                    raise
    raise SourceError(f"{escape_hidden(url)} publishes no skills: there is no {INDEXES[0]}")
