"""A skill of a registry with the apm protocol: a list of versions with digests, and archives."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from skillkit.core.foreign_json import parse_json
from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import NetworkError, SourceError
from skillkit.install.semver import highest, parse_range
from skillkit.install.sources.clawhub import NAME, VERSION, OpenRelease
from skillkit.install.sources.source import Access, OpenSource, Source, check_address, checked_text
from skillkit.install.tree import TreeFile

_TEXT = re.compile(
    r"apm:(?P<owner>[^/@#]+)/(?P<name>[^/@#]+)(?:@(?P<range>[^#]+))?#(?P<registry>https?://.+)"
)
_SKILLS = ".apm/skills/"
"""Skill folder of a package made by `apm publish`."""


@dataclass(frozen=True, slots=True)
class ApmSource(Source):
    """A skill by its owner and name, the range of versions that is followed, and the registry that has it."""

    kind: ClassVar[str] = "apm"
    form: ClassVar[str] = "apm:owner/skill[@range]#registry"

    owner: str
    name: str
    registry: str
    range: str = "*"
    path: str = ""

    def __post_init__(self) -> None:
        for text in (self.owner, self.name):
            checked_text(NAME, text, "the name of an owner or a skill")
        object.__setattr__(self, "registry", check_address(self.registry).rstrip("/"))
        if not VERSION.fullmatch(self.range):
            try:
                parse_range(self.range)
            except ValueError as error:
                raise SourceError(escape_hidden(str(error))) from error

    @classmethod
    def parse(cls, text: str) -> "ApmSource | None":
        match = _TEXT.fullmatch(text)
        return cls(**{key: value for key, value in match.groupdict().items() if value}) if match else None

    @property
    def location(self) -> str:
        return f"apm:{self.owner}/{self.name}#{self.registry}"

    @property
    def follows(self) -> str:
        return self.range

    @property
    def root_name(self) -> str:
        return self.name

    def at(self, version: str) -> "ApmSource":
        return replace(self, range=version)

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        from skillkit.install.sources.download import download
        from skillkit.install.sources.unpack import unpack

        place = f"{self.registry}/v1/packages/{self.owner}/{self.name}/versions"
        version, digest = self._chosen(download(place, access))

        def files() -> dict[str, TreeFile]:
            data = download(f"{place}/{version}/download", access)
            if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
                raise SourceError(f"{self}: the archive of {version} does not match the listed digest")
            found = unpack(data, str(self))
            inside = f"{_SKILLS}{self.name}/"
            packed = {
                path.removeprefix(inside): file for path, file in found.items() if path.startswith(inside)
            }
            return packed or found

        yield OpenRelease(self, files, version, ())

    def _chosen(self, page: bytes) -> tuple[str, str]:
        """Return the highest version that fits, with the digest of its archive."""
        try:
            listed: list[dict[str, Any]] = parse_json(page)["versions"]
            digests = {str(each["version"]): str(each["digest"]) for each in listed}
        except (ValueError, KeyError, TypeError) as error:
            raise NetworkError(f"{self.registry} did not return a list of versions") from error
        try:
            version = highest(self.range, digests)
        except ValueError as error:
            raise SourceError(escape_hidden(str(error))) from error
        if version is None:
            raise SourceError(f"{self} has no version matching '{escape_hidden(self.range)}'")
        return checked_text(VERSION, version, "a version"), digests[version]
