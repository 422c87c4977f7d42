"""The record of one installed skill in registry.json."""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from skillkit.core.codec import decode, encode
from skillkit.core.digest import FileDigest
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.paths import installable, installed_identity
from skillkit.install.sources.kinds import source_from_data, source_to_data
from skillkit.install.sources.source import Source

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_STORED = re.compile(r"[0-9a-f]{64}/[a-z0-9][a-z0-9-]{0,63}(?:\.[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class InstalledSkill:
    """One version of a skill in the store, and where it came from."""

    name: str
    name_canonical: str
    digest: str
    files: Mapping[str, FileDigest] = field(hash=False)
    installed_path: str = field(default="", kw_only=True)
    """Empty, as the moment, while it is not installed."""
    installed_at: str = field(default="", kw_only=True)
    source: Source
    """The source it was installed from, followed by updates."""
    revision: str | None = None
    """The exact revision of the source; None if it has no revisions."""
    stored: str = ""
    """Path of the files in the store; empty until they are written."""
    declared_name: str = ""
    """The name in SKILL.md, if installed under another name."""
    trusted_digest: str | None = None
    """The digest the user said yes to; written for people to see, read from consents.json."""
    needs: tuple[str, ...] = ()
    """Canonical names of the skills that it tells to use or declares."""
    came_for: tuple[str, ...] = ()
    """Canonical names of the skills for which it was installed; empty when the user asked for it."""
    previous: "tuple[InstalledSkill, ...]" = field(default=(), hash=False)
    """Earlier versions, the latest first."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Fields that another release of skillkit wrote, kept as they are."""

    @property
    def trusted(self) -> bool:
        """Whether the user approved exactly these bytes."""
        return self.trusted_digest == self.digest

    @property
    def mended_from(self) -> str:
        """The title in SKILL.md that the name was derived from; empty if the name was chosen otherwise."""
        declared = self.declared_name
        return declared if declared and installed_identity(declared) == self.name_canonical else ""

    @property
    def origin(self) -> str:
        """The source in words."""
        inside = f" ({self.subpath})" if self.subpath else ""
        return escape_hidden(f"{self.source.location}{inside}")

    @property
    def version(self) -> str:
        """A version in a few characters."""
        return self.revision[:8] if self.revision else self.digest[7:19]

    @property
    def subpath(self) -> str:
        """The skill's folder in the source."""
        return self.source.path

    @property
    def git_url(self) -> str | None:
        return self.source.registry_fields(self.revision)["git_url"]

    @property
    def commit_sha(self) -> str | None:
        return self.source.registry_fields(self.revision)["commit_sha"]

    @property
    def branch(self) -> str | None:
        return self.source.registry_fields(self.revision)["branch"]

    @property
    def tag(self) -> str | None:
        return self.source.registry_fields(self.revision)["tag"]

    def same_origin(self, other: "InstalledSkill") -> bool:
        """Return whether both come from the same source, ignoring versions."""
        mine, theirs = self.source, other.source
        return (mine.kind, mine.location, mine.path) == (theirs.kind, theirs.location, theirs.path)

    def to_data(self) -> dict[str, Any]:
        fields = self.__slots__
        special = ("files", "previous", "source", "extra")
        data = {**self.extra, **{name: getattr(self, name) for name in fields if name not in special}}
        data |= self.source.registry_fields(self.revision)
        data |= {"source": source_to_data(self.source), "subpath": self.subpath, "trusted": self.trusted}
        data["files"] = {path: encode(file) for path, file in self.files.items()}
        data["previous"] = [version.to_data() for version in self.previous]
        return data

    @staticmethod
    def from_data(data: Any, approved: Container[str] = ()) -> "InstalledSkill":
        """Return the record; it is trusted only if its digest is in `approved`.

        Raises InstallError, ValueError, KeyError, TypeError or AttributeError for an invalid record.
        """
        digest = data["digest"]
        computed = {
            "files": file_digests(data["files"]),
            "source": source_from_data(data["source"]),
            "trusted_digest": digest if digest in approved else None,
            "previous": tuple(InstalledSkill.from_data(item, approved) for item in data.get("previous", ())),
            "extra": {name: value for name, value in data.items() if name not in _WRITTEN},
        }
        skill = decode(InstalledSkill, data, given=computed, forgiving=True)
        if not installable(skill.name) or skill.name_canonical != canonical_name(skill.name):
            raise ValueError("invalid name")
        if not _DIGEST.fullmatch(skill.digest):
            raise ValueError("invalid digest")
        if not _STORED.fullmatch(skill.stored):
            raise ValueError("path outside the store")
        return skill


_WRITTEN = frozenset(
    {*InstalledSkill.__slots__, "git_url", "commit_sha", "branch", "tag", "subpath", "trusted"}
)
"""Fields of a record in this release."""


def file_digests(data: Mapping[str, Any]) -> Mapping[str, FileDigest]:
    """Return the files of a record or a lock; not by `decode`, which takes too long for thousands."""
    return MappingProxyType(
        {
            path: FileDigest(str(file["sha256"]), int(file["size"]), file["executable"] is True)
            for path, file in data.items()
        }
    )
