"""Tier 2: a skill whose instructions are read on access."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from skillkit.core.cache import Stamp
from skillkit.core.content import read_whole
from skillkit.core.exceptions import ContentLoadError
from skillkit.core.header import split
from skillkit.core.models import SkillMetadata
from skillkit.core.parser import SkillParser
from skillkit.core.processors import RenderContext, render
from skillkit.core.sources import project_root
from skillkit.core.threads import in_thread


class InstructionsFile(NamedTuple):
    """The instructions of a skill, and the state of the file they were read from."""

    body: str
    stamp: Stamp
    sha256: str
    """Of the whole file."""


def read_document(skill: SkillMetadata, valid: Stamp | None = None) -> InstructionsFile:
    """Read the body of a skill without its header.

    The header is checked again unless the file is still in the state `valid`: instructions of a
    file that has become invalid are not handed out.
    """
    data, stamp = read_whole(skill.skill_path)
    if stamp != valid:
        SkillParser(recover=skill.recovered).parse(data, skill.skill_path)
    start = split(data).body_start
    try:
        text = data[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContentLoadError(
            f"Skill file contains invalid UTF-8: {skill.skill_path} (byte {start + error.start}). "
            "Save it as UTF-8."
        ) from error
    return InstructionsFile(
        text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\n"), stamp, hashlib.sha256(data).hexdigest()
    )


class Skill:
    """A skill and its base directory; the instructions are read from disk on access."""

    def __init__(self, metadata: SkillMetadata, base_directory: Path) -> None:
        self.metadata = metadata
        self.base_directory = base_directory

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Skill) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[SkillMetadata, Path]:
        return self.metadata, self.base_directory

    @property
    def content(self) -> str:
        """The current instructions without the header; the same object while they are equal."""
        kept, text = vars(self).get("content"), read_document(self.metadata).body
        if text != kept:
            vars(self)["content"] = kept = text
        return kept

    def invoke(self, arguments: str | None = "") -> str:
        """Render the instructions for a model."""
        around = RenderContext.of(self.metadata, project_root())
        return render(self.content, self.base_directory, arguments, self.metadata.name, around)

    async def ainvoke(self, arguments: str | None = "") -> str:
        """`invoke` without blocking the event loop."""
        return await in_thread(self.invoke, arguments)
