"""Sources → SkillMetadata: bounded, sorted, contained, and never stopped by one bad file."""

import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import time_ns
from typing import NamedTuple

from skillkit.core.cache import Stamp
from skillkit.core.codex import codex_stamp, with_codex
from skillkit.core.content import read_head, stamp_of
from skillkit.core.diagnostics import Diagnostic, Severity
from skillkit.core.disk import real_path
from skillkit.core.exceptions import (
    ContentLoadError,
    ManifestNotFoundError,
    PathSecurityError,
    PluginError,
    SkillParsingError,
    SkillsUseError,
)
from skillkit.core.lazy_names import older_names
from skillkit.core.models import SkillMetadata, SkillSource, SourceType
from skillkit.core.parser import SkillParser
from skillkit.core.plugins import MANIFEST, PluginManifest, parse_plugin_manifest
from skillkit.core.text import escape_hidden, has_control
from skillkit.core.walk import MAX_DEPTH, MAX_FOLDERS, SKILL_FILE, SeenFolders, SkillFile, SkillWalk

logger = logging.getLogger(__name__)

Rename = Callable[[SkillMetadata], str | None]
"""Name that replaces the one in the header; None keeps that one."""


_Result = SkillMetadata | tuple[Diagnostic, ...]


class _CachedHeader(NamedTuple):
    """The result of reading one file."""

    stamp: Stamp
    beside: Stamp | None
    """Of `agents/openai.yaml`."""
    settled: bool
    """Whether any further change to the file changes the stamp."""
    label: str
    result: _Result


class Discovery:
    """Finds skills and reads their headers; remembers both for as long as the files do not change."""

    def __init__(
        self,
        parser: SkillParser | None = None,
        *,
        max_depth: int = MAX_DEPTH,
        max_folders: int = MAX_FOLDERS,
        include_nested: bool = False,
        rename: Rename | None = None,
        recover: Callable[[Path], bool] | None = None,
    ) -> None:
        """`recover` decides by folder which invalid headers are recovered."""
        self.parser = parser or SkillParser()
        self.max_depth = max_depth
        self.max_folders = max_folders
        self.include_nested = include_nested
        self.rename = rename
        self.recover = recover
        self._cached: dict[str, _CachedHeader] = {}
        self._seen = SeenFolders()

    def discover(
        self, source: SkillSource, seen: SeenFolders | None = None
    ) -> Iterator[SkillMetadata | Diagnostic]:
        """Yield every skill beneath `source`, sorted; a broken one is yielded as diagnostics.

        `seen` is shared between the sources of one pass, so that a folder reached twice counts once.
        """
        seen = seen or SeenFolders()
        folders, problems = folders_of(source)
        yield from problems
        for folder in folders:
            walk = self.walk(folder)
            for found in walk:
                if not seen.is_new(found):
                    continue
                result = self._metadata(found, source)
                if isinstance(result, SkillMetadata):
                    yield result
                else:
                    yield from result
            seen.roots.add(walk.root)
            seen.links |= walk.links
            yield from walk.diagnostics

    def finish(self, seen: SeenFolders) -> None:
        """Drop cached headers of files that a pass over all sources did not find."""
        for path in self._cached.keys() - seen.paths:
            del self._cached[path]
        self._seen = seen

    def check_folder(self, folder: Path) -> None:
        """Raise ContentLoadError when `folder` lies behind a link that discovery has not seen."""
        path = os.fspath(folder)
        while path not in self._seen.roots and path != (above := os.path.dirname(path)):
            if os.path.islink(path) and path not in self._seen.links:
                raise ContentLoadError(
                    f"{escape_hidden(path)} has become a symbolic link since it was found, to "
                    f"{escape_hidden(str(real_path(path)))}. It is not followed before skills are "
                    "searched again."
                )
            path = above

    def known_stamp(self, path: str) -> Stamp | None:
        """The state in which the header of `path` was last found valid."""
        known = self._cached.get(path)
        return known.stamp if known and known.settled and isinstance(known.result, SkillMetadata) else None

    def _metadata(self, found: SkillFile, source: SkillSource) -> _Result:
        known = self._cached.get(found.path)
        if known and known.label != source.label:
            known = None
        beside = codex_stamp(found.path)
        if known and known.settled and (known.stamp, known.beside) == (stamp_of(found.status), beside):
            return known.result
        path = Path(found.path)
        began = time_ns()
        try:
            head, stamp = _head_of(found)
        except _UnreadableError as error:
            # Not remembered: it may become readable without a change to the file.
            return () if error.code is None else (_failure(path, error.code, str(error)),)
        result: _Result
        try:
            recover = self.recover is not None and self.recover(path.parent)
            parser = SkillParser(recover=True) if recover else self.parser
            result = self._named(parser.parse(head, path, source))
            if beside is not None:
                result = with_codex(result)
        except SkillParsingError as error:
            result = error.diagnostics
        settled = stamp.is_settled(began) and (beside is None or beside.is_settled(began))
        if known and known.result == result:
            result = known.result
        elif known and not settled and _is_whole(known.result) and not _is_whole(result):
            return known.result  # most likely in the middle of being written: look again next time
        self._cached[found.path] = _CachedHeader(stamp, beside, settled, source.label, result)
        return result

    def _named(self, skill: SkillMetadata) -> SkillMetadata:
        name = self.rename(skill) if self.rename is not None else None
        return skill if name is None else replace(skill, name=name)

    def walk(self, folder: Path | str, max_depth: int | None = None) -> SkillWalk:
        return SkillWalk(
            folder,
            max_depth=self.max_depth if max_depth is None else max_depth,
            max_folders=self.max_folders,
            include_nested=self.include_nested,
        )


class _UnreadableError(Exception):
    """A SKILL.md cannot be read; without a code if it is gone, which is not reported."""

    def __init__(self, code: str | None, message: str = "") -> None:
        super().__init__(message)
        self.code = code


def _head_of(found: SkillFile) -> tuple[bytes, Stamp]:
    mode = found.status.st_mode
    if has_control(found.path):
        raise _UnreadableError("folder-name", "The folder's name contains control characters. Rename it")
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise _UnreadableError("not-a-file", "Not a regular file")
    try:
        return read_head(found.path)
    except PathSecurityError as error:
        raise _UnreadableError("symlink-outside", str(error)) from error
    except SkillsUseError as error:
        raise _UnreadableError("unreadable", str(error)) from error
    except FileNotFoundError as error:
        raise _UnreadableError(None) from error
    except OSError as error:
        raise _UnreadableError("unreadable", f"Cannot be read: {error.strerror}") from error


def discover_plugin_manifest(plugin_dir: Path) -> PluginManifest | None:
    """Return the manifest of a plugin folder; log and return None if it is missing or invalid."""
    manifest_path = Path(plugin_dir) / MANIFEST
    try:
        manifest = parse_plugin_manifest(manifest_path, strict=False)
    except ManifestNotFoundError:
        logger.debug("No plugin manifest found at %s", escape_hidden(str(manifest_path)))
        return None
    except PluginError as error:
        logger.warning(
            "Plugin manifest at %s cannot be used: %s",
            escape_hidden(str(manifest_path)),
            escape_hidden(str(error)),
        )
        return None
    logger.info(
        "Discovered plugin '%s' v%s with %d skill directory(ies) at %s",
        manifest.name,
        manifest.version,
        len(manifest.skills),
        escape_hidden(str(plugin_dir)),
    )
    return manifest


def folders_of(source: SkillSource) -> tuple[list[Path], list[Diagnostic]]:
    """Return the folders of a source to search, and diagnostics about the others."""
    if source.plugin_manifest is None:
        return [source.directory], _broken_manifest(source)
    if not source.plugin_manifest.skills:
        return [], []
    root = real_path(source.directory)
    folders: list[Path] = []
    problems: list[Diagnostic] = []
    # What a manifest lists is searched beside the folder that every plugin has.
    for name in dict.fromkeys(("skills", *source.plugin_manifest.skills)):
        folder = source.directory / name
        if not real_path(folder).is_relative_to(root):
            problems.append(_failure(folder, "plugin-folder", "The folder leaves the plugin"))
        elif os.path.isdir(folder) and not any(folder.is_relative_to(other) for other in folders):
            folders.append(folder)
    if not folders and os.path.lexists(root / SKILL_FILE):
        folders = [source.directory]  # a plugin that is one skill
    return folders, problems


def _broken_manifest(source: SkillSource) -> list[Diagnostic]:
    """Describe why the manifest of a plugin is ignored."""
    path = source.directory / MANIFEST
    if source.source_type is not SourceType.PLUGIN or not os.path.lexists(path):
        return []
    try:
        parse_plugin_manifest(path, strict=False)
    except PluginError as error:
        return [Diagnostic(path, "plugin-manifest", Severity.WARNING, str(error))]
    return []


def _is_whole(result: _Result) -> bool:
    return isinstance(result, SkillMetadata) and not result.recovered


def _failure(path: Path, code: str, message: str) -> Diagnostic:
    return Diagnostic(path, code, Severity.ERROR, message)


__getattr__ = older_names(__name__)
