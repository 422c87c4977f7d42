"""Sources → SkillMetadata: bounded, sorted, contained, and never stopped by one bad file."""

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from skillkit.core.cache import Stamp
from skillkit.core.content import open_skill_file, stamp_of
from skillkit.core.exceptions import PluginError, SkillParsingError, SkillsUseError
from skillkit.core.header import BOM, MAX_HEADER_BYTES
from skillkit.core.models import Diagnostic, PluginManifest, Severity, SkillMetadata, SkillSource
from skillkit.core.parser import SkillParser
from skillkit.core.plugins import MANIFEST, parse_plugin_manifest

logger = logging.getLogger(__name__)

SKILL_FILE = "SKILL.md"
MAX_DEPTH = 5
MAX_FOLDERS = 5000
MAX_ENTRIES = 100_000
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", "site-packages", ".tox"}
)
_VIRTUAL_ENVIRONMENT = "pyvenv.cfg"
_FIRST_READ = 4096


class MetadataMemo(Protocol):
    """Metadata remembered from an earlier run, valid for one state of its file."""

    def get(self, path: str, stamp: Stamp) -> SkillMetadata | None: ...

    def put(self, path: str, stamp: Stamp, metadata: SkillMetadata) -> None: ...


Rename = Callable[[SkillMetadata], str | None]
"""What a skill is called instead of what its header says; None leaves it its name."""


class Found(NamedTuple):
    """A SKILL.md that a walk came upon."""

    path: str
    status: os.stat_result


class _Folder(NamedTuple):
    path: str
    depth: int
    inside_skill: bool


class SkillWalk:
    """One pass over a folder: every SKILL.md beneath it, in sorted order, within limits."""

    def __init__(
        self,
        root: Path | str,
        *,
        max_depth: int = MAX_DEPTH,
        max_folders: int = MAX_FOLDERS,
        include_nested: bool = False,
    ) -> None:
        self.root = os.fspath(root)
        self.max_depth = max_depth
        self.max_folders = max_folders
        self.include_nested = include_nested
        self.diagnostics: list[Diagnostic] = []
        """What could not be searched, complete once the walk is over."""
        self._listed: set[tuple[int, int]] = set()

    def __iter__(self) -> Iterator[Found]:
        stack = [_Folder(self.root, 0, False)]
        visited = 0
        while stack:
            folder = stack.pop()
            if visited >= self.max_folders:
                self._say(
                    self.root,
                    "folder-limit",
                    f"Stopped after {self.max_folders} folders; raise max_folders to search the rest",
                )
                return
            visited += 1
            found = self._skill_in(folder.path)
            if found:
                yield found
                if folder.depth and not self.include_nested:
                    continue
            below = self._listing(folder, has_skill=found is not None)
            if below.other_spelling:
                yield below.other_spelling
                if folder.depth and not self.include_nested:
                    continue
            stack.extend(reversed(below.folders))

    def _skill_in(self, folder: str) -> Found | None:
        path = f"{folder}/{SKILL_FILE}"
        try:
            return Found(path, os.stat(path))
        except OSError:
            return None

    def _listing(self, folder: _Folder, *, has_skill: bool) -> "_Listing":
        nothing = _Listing([], None)
        try:
            status = os.stat(folder.path)
            if (status.st_dev, status.st_ino) in self._listed:
                return nothing
            self._listed.add((status.st_dev, status.st_ino))
            with os.scandir(folder.path) as entries:
                listing = self._sorted_entries(folder, entries, has_skill=has_skill)
        except FileNotFoundError:
            return nothing  # it vanished while we looked
        except OSError as error:
            self._say(folder.path, "unreadable", f"Cannot be searched: {error.strerror}")
            return nothing
        if listing.folders and folder.depth >= self.max_depth:
            self._say(
                folder.path,
                "depth-limit",
                f"Depth limit ({self.max_depth}) reached; folders below are not searched",
                Severity.INFO,
            )
            return _Listing([], listing.other_spelling)
        return listing

    def _sorted_entries(
        self, folder: _Folder, entries: Iterator["os.DirEntry[str]"], *, has_skill: bool
    ) -> "_Listing":
        inside = folder.inside_skill or (has_skill and folder.depth > 0)
        names: list[str] = []
        spelling: str | None = None
        for number, entry in enumerate(entries):
            if number >= MAX_ENTRIES:
                self._say(
                    folder.path,
                    "entry-limit",
                    f"Only the first {MAX_ENTRIES:,} entries were looked at",
                )
                break
            name = entry.name
            if name == _VIRTUAL_ENVIRONMENT:
                return _Listing([], None)
            if name in SKIPPED:
                continue
            if not has_skill and name.lower() == "skill.md" and (spelling is None or name < spelling):
                spelling = name
            elif _is_folder(entry, follow=not inside):
                names.append(name)
        other = None
        if spelling is not None:
            path = f"{folder.path}/{spelling}"
            other = Found(path, os.lstat(path))
        inside = inside or (other is not None and folder.depth > 0)
        return _Listing(
            [_Folder(f"{folder.path}/{name}", folder.depth + 1, inside) for name in sorted(names)],
            other,
        )

    def _say(self, path: str, code: str, message: str, severity: Severity = Severity.WARNING) -> None:
        logger.log(
            logging.WARNING if severity is Severity.WARNING else logging.DEBUG,
            "%s: %s",
            path,
            message,
        )
        self.diagnostics.append(Diagnostic(Path(path), code, severity, message))


class _Listing(NamedTuple):
    folders: list[_Folder]
    other_spelling: Found | None
    """A skill.md or Skill.md where there is no SKILL.md."""


class SkillDiscovery:
    """Finds skills and reads their headers; remembers both for as long as the files do not change."""

    SKILL_FILE_NAME = SKILL_FILE

    def __init__(
        self,
        parser: SkillParser | None = None,
        *,
        max_depth: int = MAX_DEPTH,
        max_folders: int = MAX_FOLDERS,
        include_nested: bool = False,
        memo: MetadataMemo | None = None,
        rename: Rename | None = None,
    ) -> None:
        self.parser = parser or SkillParser(recover=True)
        self.max_depth = max_depth
        self.max_folders = max_folders
        self.include_nested = include_nested
        self.memo = memo
        self.rename = rename
        self._known: dict[str, tuple[Stamp, str, SkillMetadata | tuple[Diagnostic, ...]]] = {}

    def discover(
        self, source: SkillSource, seen: "dict[tuple[int, int], str] | None" = None
    ) -> Iterator[SkillMetadata | Diagnostic]:
        """Every skill beneath `source`, sorted; a broken one comes back as diagnostics.

        `seen` is shared between the sources of one pass, so that a folder reached twice counts once.
        """
        seen = {} if seen is None else seen
        for folder in _folders_of(source):
            walk = self._walk(folder)
            for found in walk:
                if not _is_new(found, seen):
                    continue
                result = self._metadata(found, source)
                if isinstance(result, SkillMetadata):
                    yield result
                else:
                    yield from result
            yield from walk.diagnostics

    def forget_missing(self, paths: "set[str]") -> None:
        """Drop what is remembered of files that are not among `paths` any more."""
        for path in self._known.keys() - paths:
            del self._known[path]

    def known_stamp(self, path: str) -> Stamp | None:
        """The state in which the header of `path` was last found valid."""
        known = self._known.get(path)
        return known[0] if known and isinstance(known[2], SkillMetadata) else None

    def _metadata(self, found: Found, source: SkillSource) -> SkillMetadata | tuple[Diagnostic, ...]:
        stamp = stamp_of(found.status)
        known = self._known.get(found.path)
        if known and known[0] == stamp and known[1] == source.label:
            return known[2]
        result: SkillMetadata | tuple[Diagnostic, ...] | None = None
        if self.memo is not None:
            result = self.memo.get(found.path, stamp)
            if result is not None and result.source_label != source.label:
                result = None
        if result is None:
            stamp, result = self._read(found, source)
            if self.memo is not None and isinstance(result, SkillMetadata):
                self.memo.put(found.path, stamp, result)
        self._known[found.path] = (stamp, source.label, result)
        return result

    def _read(
        self, found: Found, source: SkillSource
    ) -> tuple[Stamp, SkillMetadata | tuple[Diagnostic, ...]]:
        stamp = stamp_of(found.status)
        path = Path(found.path)
        try:
            if not (stat.S_ISREG(found.status.st_mode) or stat.S_ISLNK(found.status.st_mode)):
                return stamp, _failure(path, "not-a-file", "Not a regular file")
            head, stamp = read_head(found.path)
            return stamp, self._named(self.parser.parse(head, path, source))
        except SkillParsingError as error:
            return stamp, error.diagnostics
        except SkillsUseError as error:
            return stamp, _failure(path, "unreadable", str(error))
        except FileNotFoundError:
            return stamp, ()
        except OSError as error:
            reason = "is a broken symbolic link" if error.errno == errno.ELOOP else error.strerror
            return stamp, _failure(path, "unreadable", f"Cannot be read: {reason}")

    def _named(self, skill: SkillMetadata) -> SkillMetadata:
        name = self.rename(skill) if self.rename is not None else None
        return skill if name is None else replace(skill, name=name)

    # The names of skillkit 0.2

    def discover_skills(self, source: SkillSource) -> list[Path]:
        """The SKILL.md files beneath `source`."""
        return [path for folder in _folders_of(source) for path in self.scan_directory(folder)]

    def scan_directory(self, skills_dir: Path) -> list[Path]:
        """The SKILL.md files beneath a folder that may not exist."""
        skills_dir = Path(skills_dir)
        if not skills_dir.exists():
            logger.debug("Skills directory does not exist: %s", skills_dir)
            return []
        if not skills_dir.is_dir():
            logger.warning("Skills path is not a directory: %s", skills_dir)
            return []
        return self.find_skill_files(skills_dir)

    def find_skill_files(self, skills_dir: Path, max_depth: int = MAX_DEPTH) -> list[Path]:
        """The SKILL.md files beneath a folder, to `max_depth` folders deep."""
        walk = SkillWalk(
            os.path.abspath(skills_dir),
            max_depth=max_depth,
            max_folders=self.max_folders,
            include_nested=self.include_nested,
        )
        seen: dict[tuple[int, int], str] = {}
        return [Path(found.path) for found in walk if _is_new(found, seen)]

    async def adiscover_skills(self, source: SkillSource) -> list[Path]:
        import asyncio

        return await asyncio.to_thread(self.discover_skills, source)

    async def ascan_directory(self, skills_dir: Path) -> list[Path]:
        import asyncio

        return await asyncio.to_thread(self.scan_directory, skills_dir)

    async def afind_skill_files(self, skills_dir: Path, max_depth: int = MAX_DEPTH) -> list[Path]:
        import asyncio

        return await asyncio.to_thread(self.find_skill_files, skills_dir, max_depth)

    def _walk(self, folder: Path) -> SkillWalk:
        return SkillWalk(
            folder,
            max_depth=self.max_depth,
            max_folders=self.max_folders,
            include_nested=self.include_nested,
        )


def read_head(path: str) -> tuple[bytes, Stamp]:
    """The beginning of a SKILL.md, with all of its header when that is within the limit."""
    descriptor = open_skill_file(path)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        head = os.read(descriptor, _FIRST_READ)
        if len(head) == _FIRST_READ and _may_go_on(head):
            head += os.read(descriptor, MAX_HEADER_BYTES + 16 - len(head))
        return head, stamp_of(status)
    finally:
        os.close(descriptor)


def _may_go_on(head: bytes) -> bool:
    """Whether `head` stops before the header does."""
    if not head.removeprefix(BOM).lstrip(b" \t\r\n").startswith(b"---"):
        return False
    fence = max(head.find(b"\n---", 4), head.find(b"\r---", 4))
    return fence < 0 or fence > len(head) - 64


def discover_plugin_manifest(plugin_dir: Path) -> PluginManifest | None:
    """The manifest of a plugin folder; None, and a line in the log, if there is none that can be used."""
    manifest_path = Path(plugin_dir) / MANIFEST
    if not manifest_path.exists():
        logger.debug("No plugin manifest found at %s", manifest_path)
        return None
    try:
        manifest = parse_plugin_manifest(manifest_path)
    except PluginError as error:
        logger.warning("Plugin manifest at %s cannot be used: %s", manifest_path, error)
        return None
    logger.info(
        "Discovered plugin '%s' v%s with %d skill directory(ies) at %s",
        manifest.name,
        manifest.version,
        len(manifest.skills),
        plugin_dir,
    )
    return manifest


def _folders_of(source: SkillSource) -> list[Path]:
    if source.plugin_manifest is None:
        return [source.directory]
    root = source.directory.resolve()
    folders = [source.directory / folder for folder in source.plugin_manifest.skills]
    inside = [folder for folder in folders if folder.resolve().is_relative_to(root)]
    for folder in folders:
        if folder not in inside:
            logger.warning("Plugin folder %s leaves the plugin; it is not searched", folder)
    return [folder for folder in inside if folder.is_dir()]


def _is_folder(entry: "os.DirEntry[str]", *, follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False


def _is_new(found: Found, seen: "dict[tuple[int, int], str]") -> bool:
    """Whether this skill's folder has not been met yet; hard links in other folders are other skills."""
    identity = (found.status.st_dev, found.status.st_ino)
    first = seen.setdefault(identity, found.path)
    if first == found.path:
        return True
    try:
        return not os.path.samefile(os.path.dirname(first), os.path.dirname(found.path))
    except OSError:
        return False


def _failure(path: Path, code: str, message: str) -> tuple[Diagnostic, ...]:
    return (Diagnostic(path, code, Severity.ERROR, message),)
