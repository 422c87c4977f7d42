"""The interface of a source: resolve, list, fetch, compare versions, describe itself."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from threading import Event
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

from skillkit.core.codec import decode
from skillkit.core.text import HIDDEN_OR_LAYOUT, escape_hidden
from skillkit.install.exceptions import InstallError, SourceError
from skillkit.install.sources.layout import Listing
from skillkit.install.tree import ANY_SIZE, SkillTree, TreeLimits

Item = TypeVar("Item")
Answer = TypeVar("Answer")
TIMEOUT = 600.0
BACK_OFF = (0.5, 2.0)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Access:
    """Network settings of sources: progress callback, timeout, retries, cancellation."""

    progress: Callable[[str], object] = lambda text: None
    timeout: float = TIMEOUT
    """Seconds for one source, all tries together."""
    back_off: tuple[float, ...] = BACK_OFF
    """Pauses before the next try when a source cannot be reached."""
    stop: Event = field(default_factory=Event)
    """Set to cancel the operation, from any thread."""

    @contextmanager
    def stopping_on_error(self) -> Iterator[None]:
        """Stop other threads' requests if the block raises."""
        try:
            yield
        except BaseException:
            self.stop.set()
            raise


class Source(ABC):
    """A place that holds skills: a frozen value, which a registry or a lock can keep.

    Implementations are dataclasses with a field `path`, where in the source to look. The entry point
    group `skillkit.sources` makes a class of another package known.
    """

    __slots__ = ()
    kind: ClassVar[str]
    """The kind's name in records."""
    form: ClassVar[str]
    """Its syntax, for messages: `owner/repo`."""
    path: str

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self | None:
        """Return the source that `text` names; None for a text of another kind.

        Raises SourceError for one of this kind that is refused.
        """

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return the source that `to_data` described. Raises SourceError, KeyError, TypeError, ValueError."""
        return decode(cls, {**data, "path": checked_path(data.get("path", ""))}, forgiving=True)

    def to_data(self) -> dict[str, str]:
        """Return everything that `from_data` needs, without `kind`: the fields that have a value."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]
        return {name: str(value) for name, value in given.items() if value is not None}

    @property
    @abstractmethod
    def location(self) -> str:
        """The place without version and path: two skills of one location have one author."""

    def lock_fields(self, skill_path: str) -> dict[str, str]:
        """Return the fields that `npx skills` has in skills-lock.json for a SKILL.md of the source."""
        return {"source": self.location, "sourceType": self.kind, "skillPath": skill_path}

    def registry_fields(self, revision: str | None) -> dict[str, str | None]:
        """Return the fields of git that registry.json has for every skill."""
        return dict.fromkeys(("git_url", "commit_sha", "branch", "tag"))

    @property
    def pinned(self) -> bool:
        """Whether the source is immutable."""
        return False

    @property
    def portable(self) -> bool:
        """Whether other machines can fetch it, so that a lock may name it."""
        return True

    @property
    def follows(self) -> str | None:
        """The branch or tag that an update follows; None if immutable."""
        return None if self.pinned else "the newest"

    @property
    def root_name(self) -> str:
        """Default name of a skill at the top of the source."""
        return self.location.rstrip("/").rpartition("/")[2]

    def at(self, version: str) -> Self:
        """Return the source at another version; raises SourceError where there are none."""
        raise SourceError(f"{self} has no versions; it cannot be used at '{escape_hidden(version)}'")

    def fixed(self, revision: str | None) -> Self:
        """Return the source at exactly `revision` if the kind supports that.

        Raises SourceError for a revision that it cannot have.
        """
        return self if revision is None else self.at(revision)

    def within(self, path: str) -> Self:
        """Return the source with another path inside it."""
        return replace(self, path=path)  # type: ignore[type-var]

    def __str__(self) -> str:
        return escape_hidden(self.location + (f" ({self.path})" if self.path else ""))

    @abstractmethod
    def open(self, access: Access) -> "AbstractContextManager[OpenSource]":
        """Resolve the source and open it for reading."""


class OpenSource(ABC):
    """A consistent snapshot of a source."""

    revision: str | None
    """The current revision: a commit, a version or a digest; None if the source has none."""
    followed: Source
    """The source as it should be remembered: with the branch or tag that was found."""
    notes: tuple[str, ...] = ()
    """Notes on how the source was reached."""

    @abstractmethod
    def listing(self, start: str = "") -> Listing:
        """Return the folders beneath `start` that hold a SKILL.md."""

    @abstractmethod
    def headers(self, paths: Sequence[str]) -> list[bytes]:
        """Return the SKILL.md of each folder, to choose by."""

    @abstractmethod
    def read(self, paths: Sequence[str], limits: TreeLimits) -> list[SkillTree | InstallError]:
        """Return the skills in these folders, complete and checked; an error in the place of a bad one."""

    def transfer(self, paths: Sequence[str], limits: TreeLimits) -> None:  # noqa: B027 - most read what they have
        """Fetch everything needed to read these folders, in one request if possible."""

    def earlier(self, path: str, limits: TreeLimits) -> Iterator[tuple[str | None, SkillTree]]:
        """Yield the versions of the skill at `path` with their revisions, newest first."""
        now = self.read([path], limits)[0]
        if isinstance(now, SkillTree):
            yield self.revision, now

    def is_vouched_for(self) -> bool:
        """Return whether the source itself publishes this revision, not only a contributor."""
        return True

    def holds(self, path: str, tree: SkillTree) -> bool:
        """Return whether the skill at `path` equals `tree`, so no update is available."""
        now = self.read([path], ANY_SIZE)[0]
        return isinstance(now, SkillTree) and now.digest == tree.digest

    def notes_on(self, path: str) -> tuple[str, ...]:
        """Return notes on one skill of the source."""
        return ()

    def read_file(self, path: str) -> bytes | None:
        """Return one small file of the source; None if it does not exist."""
        return None

    def moved(self, revision: str | None) -> list[str]:
        """Return a warning if the followed version moved from `revision` in an unexpected way."""
        return []

    def history(self, revision: str | None) -> list[str]:
        """Return notes on the history since `revision` if the source is not its descendant."""
        return []


class OpenPerSkill(OpenSource):
    """An open source that reads its skills one at a time."""

    @abstractmethod
    def read_one(self, path: str, limits: TreeLimits) -> SkillTree:
        """Return the skill in one folder. Raises InstallError."""

    def read(self, paths: Sequence[str], limits: TreeLimits) -> list[SkillTree | InstallError]:
        found: list[SkillTree | InstallError] = []
        for path in paths:
            try:
                found.append(self.read_one(path, limits))
            except InstallError as error:
                found.append(error)
        return found


class OpenSources:
    """Sources that are opened when they are first needed and stay open until the block ends."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._stack = ExitStack()
        self._opened: dict[Source, OpenSource] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, source: Source) -> OpenSource:
        """Return the open source, whatever path inside it is meant."""
        whole = source.within("")
        if whole not in self._opened:
            self._opened[whole] = self._stack.enter_context(whole.open(self._access))
        return self._opened[whole]


def ask_each_source(
    items: Iterable[Item],
    source_of: Callable[[Item], Source],
    ask: Callable[[Source, list[Item]], list[Answer]],
    access: Access,
    at_once: int,
) -> list[Answer]:
    """Call `ask` with the items of each source, several sources in parallel; return all results."""
    groups: dict[Source, list[Item]] = {}
    for item in items:
        groups.setdefault(source_of(item).within(""), []).append(item)
    with ThreadPoolExecutor(at_once) as pool, access.stopping_on_error():
        return [answer for answers in pool.map(ask, groups.keys(), groups.values()) for answer in answers]


def checked_text(pattern: re.Pattern[str], text: Any, meaning: str) -> str:
    """Return a text if it matches the pattern; raises SourceError otherwise."""
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise SourceError(f"'{escape_hidden(str(text)[:100])}' is not {meaning}")
    return text


def checked_path(text: str) -> str:
    """Return a path inside a source; the empty text is its top. Raises SourceError if it is outside."""
    shown = escape_hidden(text[:100])
    if text.startswith("/") or "\\" in text or HIDDEN_OR_LAYOUT.search(text) or len(text) > 1024:
        raise SourceError(f"'{shown}' is not a path inside a source")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise SourceError(f"'{shown}' is outside the source")
    return "/".join(parts[:-1] if parts[-1:] == ["SKILL.md"] else parts)


def check_address(url: str) -> str:
    """Return `url`; raises SourceError for one that is not encrypted or carries a password."""
    shown = escape_hidden(url[:200])
    try:
        parts = urlsplit(url)
        host, user = parts.hostname or "", parts.username or parts.password
    except ValueError as error:
        raise SourceError(f"'{shown}' is not an address: {error}") from error
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK):
        raise SourceError(f"'{shown}' is not encrypted. Use https://.")
    if user:
        raise SourceError("The address carries a user name, a token or a password. Leave it out.")
    if not host:
        raise SourceError(f"'{shown}' names no host")
    return url
