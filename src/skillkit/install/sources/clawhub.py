"""A skill of a registry with the ClawHub protocol."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import urlencode

from skillkit.core.foreign_json import parse_json
from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.sources.files import OpenFiles
from skillkit.install.sources.source import (
    Access,
    OpenSource,
    Source,
    check_address,
    checked_text,
)
from skillkit.install.tree import SkillTree, TreeFile

REGISTRY = "https://clawhub.ai"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,99}")
_TEXT = re.compile(
    r"clawhub:(?:(?P<owner>[^/@]+)/)?(?P<slug>[^/@#]+)(?:@(?P<version>[^#]+))?(?:#(?P<registry>https?://.+))?"
)
_MEANING = "the name of a skill or a version"
_LATEST = "latest"


class OpenRelease(OpenFiles):
    """A version of a registry, which is downloaded when its files are wanted."""

    def holds(self, path: str, tree: SkillTree) -> bool:
        """Return False: it is called for another version, and no two versions have the same files."""
        return False


@dataclass(frozen=True, slots=True)
class ClawHubSource(Source):
    """A skill by its slug, the version that is followed, and the registry that has it."""

    kind: ClassVar[str] = "clawhub"
    form: ClassVar[str] = "clawhub:[owner/]slug[@version][#registry]"

    slug: str
    owner: str = ""
    version: str = _LATEST
    registry: str = REGISTRY
    path: str = ""

    def __post_init__(self) -> None:
        for pattern, text in ((NAME, self.slug), (NAME, self.owner or self.slug), (VERSION, self.version)):
            checked_text(pattern, text, _MEANING)
        object.__setattr__(self, "registry", check_address(self.registry).rstrip("/"))

    @classmethod
    def parse(cls, text: str) -> "ClawHubSource | None":
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        named = {key: value for key, value in match.groupdict().items() if value}
        # The registry that the stock client would ask.
        return cls(**{"registry": os.environ.get("CLAWHUB_REGISTRY") or REGISTRY, **named})

    @property
    def location(self) -> str:
        own = "" if self.registry == REGISTRY else f"#{self.registry}"
        return f"clawhub:{self.owner}/{self.slug}{own}" if self.owner else f"clawhub:{self.slug}{own}"

    @property
    def follows(self) -> str:
        return self.version

    @property
    def root_name(self) -> str:
        return self.slug

    def at(self, version: str) -> "ClawHubSource":
        return replace(self, version=version)

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        from skillkit.install.sources.download import download
        from skillkit.install.sources.unpack import unpack

        owner = {"ownerHandle": self.owner} if self.owner else {}
        asked = f"?{urlencode(owner)}" if owner else ""
        page = download(f"{self.registry}/api/v1/skills/{self.slug}{asked}", access)
        version, notes = self._newest(page)
        query = urlencode({"slug": self.slug, **owner, "version": version})

        def files() -> dict[str, TreeFile]:
            return unpack(download(f"{self.registry}/api/v1/download?{query}", access), str(self))

        yield OpenRelease(self, files, version, notes)

    def _newest(self, page: bytes) -> tuple[str, tuple[str, ...]]:
        """Return the version to fetch and the registry's warnings."""
        try:
            content = parse_json(page)
            newest = (content.get("latestVersion") or {}).get("version")
            moderation = content.get("moderation") or {}
        except (ValueError, AttributeError) as error:
            raise NetworkError(f"{self.registry} did not return a skill") from error
        if moderation.get("isMalwareBlocked"):
            raise SourceError(f"{self} is blocked by its registry: it holds malware")
        notes = ("its registry flags it as suspicious",) if moderation.get("isSuspicious") else ()
        if self.version != _LATEST:
            return self.version, notes
        if not newest:
            raise SourceError(f"{self} has no published version")
        return checked_text(VERSION, newest, _MEANING), notes
