"""Names that programs written for skillkit 0.1 and 0.2 use and skillkit itself does not."""

import logging
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skillkit.core.diagnostics import Diagnostic, Severity
from skillkit.core.discovery import Discovery, folders_of
from skillkit.core.models import SkillSource
from skillkit.core.processors import MAX_ARGUMENT_BYTES, checked, header, note_suspicious, substitute
from skillkit.core.sources import Folder
from skillkit.core.threads import in_thread
from skillkit.core.walk import SKILL_FILE, SeenFolders

logger = logging.getLogger(__name__)

_WHITE_SPACE = re.compile(r"\s+")


def project_folder(folder: Folder | None, *older: Folder | None) -> Folder | None:
    """Return `folder`, or the value given under one of its older names."""
    given = next((path for path in older if path is not None), None)
    if given is None or folder is not None:
        return folder
    logger.warning("Parameter 'skill_dir' is deprecated in v0.2. Use 'project_skill_dir' instead.")
    return given


OLD_DEPTH = 5
"""How deep skillkit 0.1 and 0.2 searched."""


class SkillDiscovery(Discovery):
    """Discovery that returns files instead of metadata."""

    SKILL_FILE_NAME = SKILL_FILE

    def discover_skills(self, source: SkillSource) -> list[Path]:
        """Return the SKILL.md files beneath `source`."""
        folders, problems = folders_of(source)
        _log(problems)
        return [path for folder in folders for path in self.scan_directory(folder)]

    def scan_directory(self, skills_dir: Path) -> list[Path]:
        """Return the SKILL.md files beneath a folder that may not exist."""
        if not os.path.exists(skills_dir):
            logger.debug("Skills directory does not exist: %s", skills_dir)
            return []
        if not os.path.isdir(skills_dir):
            logger.warning("Skills path is not a directory: %s", skills_dir)
            return []
        return self.find_skill_files(skills_dir)

    def find_skill_files(self, skills_dir: Path, max_depth: int = OLD_DEPTH) -> list[Path]:
        """Return the SKILL.md files beneath a folder, to `max_depth` folders deep."""
        walk = self.walk(os.path.abspath(skills_dir), max_depth)
        seen = SeenFolders()
        paths = [Path(found.path) for found in walk if seen.is_new(found)]
        _log(walk.diagnostics)
        return paths

    async def _read_skill_file_async(self, path: Path) -> str:
        return await in_thread(Path.read_text, path, "utf-8")

    async def adiscover_skills(self, source: SkillSource) -> list[Path]:
        return await in_thread(self.discover_skills, source)

    async def ascan_directory(self, skills_dir: Path) -> list[Path]:
        return await in_thread(self.scan_directory, skills_dir)

    async def afind_skill_files(self, skills_dir: Path, max_depth: int = OLD_DEPTH) -> list[Path]:
        return await in_thread(self.find_skill_files, skills_dir, max_depth)


def normalize_arguments(arguments: str | None) -> str:
    """Return `arguments` with white space collapsed, for programs that compare them."""
    return _WHITE_SPACE.sub(" ", arguments).strip() if arguments else ""


class ContentProcessor(ABC):
    """One step between a body and what the model reads."""

    @abstractmethod
    def process(self, content: str, context: Mapping[str, Any]) -> str:
        """`content` after this step; `context` has `arguments`, `base_directory`, `skill_name`."""


class BaseDirectoryProcessor(ContentProcessor):
    """Says where the skill's files are."""

    def process(self, content: str, context: Mapping[str, Any]) -> str:
        return header(str(context.get("base_directory", ""))) + content


class ArgumentSubstitutionProcessor(ContentProcessor):
    """Puts the arguments into the body."""

    PLACEHOLDER_NAME = "ARGUMENTS"
    MAX_ARGUMENT_LENGTH = MAX_ARGUMENT_BYTES

    def process(self, content: str, context: Mapping[str, Any]) -> str:
        arguments = checked(context.get("arguments"), str(context.get("skill_name", "unknown")))
        skill_name = str(context.get("skill_name", "unknown"))
        note_suspicious(arguments, skill_name)
        return substitute(content, arguments, skill_name)


class CompositeProcessor(ContentProcessor):
    """Several steps, one after the other."""

    def __init__(self, processors: Sequence[ContentProcessor]) -> None:
        self.processors = list(processors)

    def process(self, content: str, context: Mapping[str, Any]) -> str:
        for processor in self.processors:
            content = processor.process(content, context)
        return content


def _log(diagnostics: list[Diagnostic]) -> None:
    for found in diagnostics:
        logger.log(logging.DEBUG if found.severity is Severity.INFO else logging.WARNING, "%s", found)
