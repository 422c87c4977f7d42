"""A git repository as a value: address, ref and path."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import SourceError
from skillkit.install.sources.git_address import (
    BRANCH,
    FULL_COMMIT,
    TAG,
    parse_address,
    parse_ref,
    stock_form,
)
from skillkit.install.sources.source import Access, OpenSource, Source, checked_path


@dataclass(frozen=True, slots=True)
class GitSource(Source):
    """A repository, the ref to follow, and the path inside it."""

    kind: ClassVar[str] = "git"
    form: ClassVar[str] = "owner/repo, an https://, ssh:// or file:// address"

    url: str
    ref: str | None = None
    """A branch, a tag or a full commit; None for the repository's HEAD."""
    path: str = ""
    default_branch: bool = field(default=False, compare=False)
    """Whether nobody asked for the branch in `ref`: it is the one that the repository's HEAD named."""

    @classmethod
    def parse(cls, text: str) -> "GitSource | None":
        address = parse_address(text)
        return None if address is None else cls(*address)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "GitSource":
        ref = data.get("ref")
        path, default = checked_path(data.get("path", "")), data.get("default_branch") == "True"
        return cls(data["url"], None if not ref else parse_ref(ref), path, default)

    def to_data(self) -> dict[str, str]:
        data = super(GitSource, self).to_data()
        return data if self.default_branch else {key: data[key] for key in data if key != "default_branch"}

    def lock_fields(self, skill_path: str) -> dict[str, str]:
        ref = None if self.default_branch else self.tag or self.branch or self.ref
        more = {"ref": ref} if ref else {}
        path = {"skillPath": skill_path}
        if self.url.startswith("https://github.com/"):
            source = self.url.removeprefix("https://github.com/").removesuffix(".git")
            return {"source": source, **more, "sourceType": "github", **path}
        kind = "gitlab" if self.url.startswith("https://gitlab.com/") else "git"
        url = stock_form(self.url)
        if not url.startswith("git@") and not url.endswith(".git"):
            path = {}  # stock clients would put it behind such an address
        return {"source": url, "sourceUrl": url, **more, "sourceType": kind, **path}

    def registry_fields(self, revision: str | None) -> dict[str, str | None]:
        return {"git_url": self.url, "commit_sha": revision, "branch": self.branch, "tag": self.tag}

    @classmethod
    def from_registry_fields(cls, data: Mapping[str, Any]) -> "GitSource":
        """Return the source of a record that has these fields and no `source`."""
        ref: str | None
        if data.get("tag"):
            ref = f"{TAG}{parse_ref(data['tag'])}"
        elif data.get("branch"):
            ref = f"{BRANCH}{parse_ref(data['branch'])}"
        else:
            ref = data.get("commit_sha")
        if not isinstance(data["git_url"], str):
            raise SourceError("missing repository address")
        return cls(data["git_url"], ref, checked_path(data.get("subpath") or ""))

    @property
    def location(self) -> str:
        return self.url

    @property
    def pinned(self) -> bool:
        return self.ref is not None and FULL_COMMIT.fullmatch(self.ref) is not None

    @property
    def branch(self) -> str | None:
        """The branch that is followed, once it is known to be one."""
        return self.ref.removeprefix(BRANCH) if self.ref and self.ref.startswith(BRANCH) else None

    @property
    def tag(self) -> str | None:
        """The tag that is followed, once it is known to be one."""
        return self.ref.removeprefix(TAG) if self.ref and self.ref.startswith(TAG) else None

    @property
    def follows(self) -> str | None:
        return None if self.pinned else self.tag or self.branch or self.ref or "HEAD"

    @property
    def root_name(self) -> str:
        return self.url.rpartition("/")[2].removesuffix(".git")

    def at(self, version: str) -> "GitSource":
        return replace(self, ref=parse_ref(version), default_branch=False)

    def fixed(self, revision: str | None) -> "GitSource":
        if revision is None or not FULL_COMMIT.fullmatch(revision):
            raise SourceError(f"{self} is not locked to a full commit")
        return replace(self, ref=revision, default_branch=False)

    def __str__(self) -> str:
        ref = f"#{self.ref}" if self.ref else ""
        return escape_hidden(f"{self.url}{ref}" + (f" ({self.path})" if self.path else ""))

    @contextmanager
    def open(self, access: Access) -> Iterator[OpenSource]:
        # Whoever lists installed skills reads this value and never opens it.
        from skillkit.install.sources.git_remote import GitRemote
        from skillkit.install.sources.git_repository import OpenRepository

        with GitRemote(self.url, access) as remote:
            resolved = remote.resolve(self.ref)
            default = self.default_branch or (self.ref is None and resolved.branch is not None)
            followed = replace(self, ref=resolved.ref, default_branch=default)
            yield OpenRepository(followed, remote, resolved)
