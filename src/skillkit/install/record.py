"""What registry.json knows of one installed skill, as a value."""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from skillkit.core.digest import FileDigest
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.paths import installable, installed_identity
from skillkit.install.sources.kinds import source_of_record, source_to_data
from skillkit.install.sources.source import Source

_STORED = re.compile(r"[0-9a-f]{64}/[a-z0-9][a-z0-9-]{0,63}(?:\.[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class InstalledSkill:
    """One version of a skill in the store, and where it came from."""

    name: str
    name_canonical: str
    digest: str
    files: Mapping[str, FileDigest] = field(hash=False)
    installed_path: str
    installed_at: str
    source: Source
    """Where it came from, and what an update follows."""
    revision: str | None = None
    """What the source was then, exactly; None where it has no name for that."""
    stored: str = ""
    """Where in the store the files are; empty while they are not there yet."""
    declared_name: str = ""
    """What SKILL.md calls itself, when it was installed under another name."""
    trusted_digest: str | None = None
    """The digest the user said yes to; written for people to see, read from consents.json."""
    needs: tuple[str, ...] = ()
    """Canonical names of the skills that it tells to use or declares."""
    came_for: tuple[str, ...] = ()
    """Canonical names of the skills for which it was installed; empty when the user asked for it."""
    previous: "tuple[InstalledSkill, ...]" = field(default=(), hash=False)
    """Earlier versions, the latest first."""

    @property
    def trusted(self) -> bool:
        """Whether the user approved exactly these bytes."""
        return self.trusted_digest == self.digest

    @property
    def mended_from(self) -> str:
        """The title in SKILL.md of which the name was made; empty when the name is another's choice."""
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
        """Whether both come from one place, at whatever version."""
        mine, theirs = self.source, other.source
        return (mine.kind, mine.location, mine.path) == (theirs.kind, theirs.location, theirs.path)

    def to_data(self) -> dict[str, Any]:
        fields = self.__slots__
        data = {name: getattr(self, name) for name in fields if name not in ("files", "previous", "source")}
        data |= self.source.registry_fields(self.revision)
        data |= {"source": source_to_data(self.source), "subpath": self.subpath, "trusted": self.trusted}
        data["files"] = {
            path: {"sha256": file.sha256, "size": file.size, "executable": file.executable}
            for path, file in self.files.items()
        }
        data["previous"] = [version.to_data() for version in self.previous]
        return data

    @staticmethod
    def from_data(data: Any, approved: Container[str] = ()) -> "InstalledSkill":
        """Return the record; trusted if its digest is one of `approved`, whatever it says itself.

        Raises InstallError, ValueError, KeyError, TypeError or AttributeError for what is no record.
        """
        name = _text(data["name"])
        if not installable(name) or data["name_canonical"] != canonical_name(name):
            raise ValueError("a name that cannot be used")
        digest = _digest(data["digest"])
        revision = data.get("revision", data.get("commit_sha"))
        return InstalledSkill(
            name=name,
            name_canonical=canonical_name(name),
            digest=digest,
            files=MappingProxyType(
                {
                    _text(path): FileDigest(
                        _text(file["sha256"]), int(file["size"]), file["executable"] is True
                    )
                    for path, file in data["files"].items()
                }
            ),
            installed_path=_text(data["installed_path"]),
            installed_at=_text(data["installed_at"]),
            stored=_stored(data["stored"]),
            source=source_of_record(data),
            revision=None if revision is None else _text(revision),
            declared_name=_text(data.get("declared_name") or ""),
            trusted_digest=digest if digest in approved else None,
            needs=tuple(map(_text, data.get("needs", ()))),
            came_for=tuple(map(_text, data.get("came_for", ()))),
            previous=tuple(InstalledSkill.from_data(item, approved) for item in data.get("previous", ())),
        )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return value


def _digest(value: Any) -> str:
    kind, _, digits = _text(value).partition(":")
    if kind != "sha256" or len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
        raise ValueError("a digest that is none")
    return _text(value)


def _stored(value: Any) -> str:
    if not _STORED.fullmatch(_text(value)):
        raise ValueError("a place that is not in the store")
    return _text(value)
