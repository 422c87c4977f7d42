"""Where a skill comes from: the grammar of shorthands, addresses, refs and folders."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from skillkit.core.text import HIDDEN_OR_LAYOUT, escape_hidden
from skillkit.install.exceptions import SourceError

SCHEMES = ("https", "ssh", "file")
FULL_COMMIT = re.compile(r"[0-9a-f]{40}")
_OWNER = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})"
_REPOSITORY = r"[A-Za-z0-9._-]{1,100}"
_SHORTHAND = re.compile(
    rf"(?P<owner>{_OWNER})/(?P<repository>{_REPOSITORY})(?:/(?P<path>[^@#]+?))?/?(?:[@#](?P<ref>.+))?"
)
_WEB = re.compile(
    rf"/(?P<owner>{_OWNER})/(?P<repository>{_REPOSITORY})/(?:tree|blob)/(?P<ref>[^/]+)(?:/(?P<path>.+))?"
)
_HOST = re.compile(r"\[[0-9a-fA-F:]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_SCP = re.compile(
    r"(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*):(?P<path>[^:#]+)(?:#(?P<ref>.+))?"
)
_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_REF_REFUSED = re.compile(r"[\s~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)")
MAX_TEXT = 2048


@dataclass(frozen=True, slots=True)
class GitSource:
    """A repository, what of it is wanted, and where in it to look."""

    url: str
    ref: str | None = None
    """A branch, a tag or a full commit; None is what the repository calls HEAD."""
    path: str = ""

    @property
    def pinned(self) -> bool:
        """Whether the source names one commit for ever."""
        return self.ref is not None and FULL_COMMIT.fullmatch(self.ref) is not None

    def __str__(self) -> str:
        ref = f"#{self.ref}" if self.ref else ""
        return escape_hidden(f"{self.url}{ref}" + (f" ({self.path})" if self.path else ""))


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder on this machine, taken as it is."""

    folder: Path
    path: str = ""

    def __str__(self) -> str:
        return escape_hidden(str(self.folder / self.path))


Source = GitSource | FolderSource


def parse_source(text: str, *, ref: str | None = None, path: str | None = None) -> Source:
    """`owner/repo[/path][@ref]`, an https, ssh or file address with `#ref`, or a folder.

    Raises SourceError with what would be right.
    """
    source = _parse(text.strip())
    if ref is not None:
        if isinstance(source, FolderSource):
            raise SourceError(
                f"A folder has no branches: '{source}' cannot be taken at '{escape_hidden(ref)}'. "
                f"For a repository on this machine write file://{source.folder.resolve()}"
            )
        if source.ref not in (None, ref):
            raise SourceError(
                f"Two refs: '{escape_hidden(source.ref or '')}' in the source and "
                f"'{escape_hidden(ref)}' beside it. Give one."
            )
        source = replace(source, ref=parse_ref(ref))
    if path is not None:
        parsed = parse_subpath(path)
        if source.path not in ("", parsed):
            raise SourceError(f"Two paths: '{source.path}' in the source and '{parsed}' beside it. Give one.")
        source = replace(source, path=parsed)
    return source


def _parse(text: str) -> Source:
    shown = escape_hidden(text[:100])
    if not text or len(text) > MAX_TEXT or HIDDEN_OR_LAYOUT.search(text):
        raise SourceError(f"'{shown}' is not a source: empty, too long or with hidden characters")
    if text.startswith("-"):
        raise SourceError(f"'{shown}' looks like an option, not like a source")
    if text.startswith(("/", "./", "../", "~/")) or text in (".", "..", "~"):
        return _folder(text)
    if _HELPER.match(text):
        raise SourceError(f"'{shown}' names a remote helper, which could run any program. {_REMEDY}")
    if "://" in text:
        return _address(text)
    if scp := _SCP.fullmatch(text):
        return GitSource(
            f"ssh://{scp['user']}@{scp['host']}/{_plain_path(scp['path'].lstrip('/'), shown)}",
            parse_ref(scp["ref"]) if scp["ref"] else None,
        )
    if shorthand := _SHORTHAND.fullmatch(text):
        return GitSource(
            _github(shorthand["owner"], shorthand["repository"], shown),
            parse_ref(shorthand["ref"]) if shorthand["ref"] else None,
            parse_subpath(shorthand["path"]) if shorthand["path"] else "",
        )
    hint = f" For the folder write ./{shown}." if Path(text).is_dir() else ""
    raise SourceError(f"'{shown}' is not a source.{hint} {_REMEDY}")


_REMEDY = "Write owner/repo, an https://, ssh:// or file:// address, or ./folder."


def _folder(text: str) -> FolderSource:
    folder = Path(text).expanduser()
    if not folder.is_dir():
        raise SourceError(f"There is no folder '{escape_hidden(text)}'")
    return FolderSource(folder.absolute())


def _address(text: str) -> GitSource:
    shown = escape_hidden(text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise SourceError(f"'{shown}' is not an address: {error}") from error
    host = parts.hostname or ""
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise SourceError(f"'{shown}' is not encrypted. Use https://.")
    if parts.scheme not in (*SCHEMES, "http"):
        raise SourceError(f"'{escape_hidden(parts.scheme)}' addresses are refused. {_REMEDY}")
    if parts.password is not None:
        raise SourceError(
            "The address carries a password, which would end in files and process lists. "
            "Leave it out; git asks your credential helper."
        )
    if parts.query:
        raise SourceError(f"'{shown}' has a query (?…); a repository's address has none")
    ref = parse_ref(unquote(parts.fragment)) if parts.fragment else None
    if parts.scheme == "file":
        if parts.netloc or not parts.path.startswith("/"):
            raise SourceError(f"'{shown}': write file:// and an absolute path")
        return GitSource(f"file://{_plain_path(parts.path, shown)}", ref)
    if not _HOST.fullmatch(parts.netloc.rpartition("@")[2].removesuffix(f":{port}")):
        raise SourceError(f"'{shown}' has no host that could be meant")
    if parts.username is not None and not _USER.fullmatch(parts.username):
        raise SourceError(f"'{shown}' has a user name that could be an option")
    if host == "github.com" and (web := _WEB.fullmatch(parts.path)) and ref is None:
        inside = (web["path"] or "").removesuffix("SKILL.md").strip("/")
        return GitSource(
            _github(web["owner"], web["repository"], shown),
            parse_ref(web["ref"]),
            parse_subpath(inside) if inside else "",
        )
    path = _plain_path(parts.path, shown)
    if path.strip("/") == "":
        raise SourceError(f"'{shown}' names a host but no repository")
    return GitSource(f"{parts.scheme}://{parts.netloc}{path.rstrip('/')}", ref)


def _plain_path(path: str, shown: str) -> str:
    if ".." in path.split("/") or path.lstrip("/").startswith("-") or "\\" in path:
        raise SourceError(f"'{shown}' has a path that cannot be meant")
    return path


def _github(owner: str, repository: str, shown: str) -> str:
    repository = repository.removesuffix(".git")
    if repository in ("", ".", ".."):
        raise SourceError(f"'{shown}' names no repository")
    return f"https://github.com/{owner}/{repository}"


def parse_ref(text: str) -> str:
    """A branch, tag or full commit that git cannot mistake for anything else."""
    shown = escape_hidden(text[:100])
    reason = None
    if not text or len(text) > 255:
        reason = "is empty or too long"
    elif text.startswith(("-", "/", ".")) or text.endswith(("/", ".")) or text == "@":
        reason = "cannot be the name of a branch or tag"
    elif HIDDEN_OR_LAYOUT.search(text) or _REF_REFUSED.search(text):
        reason = "has characters that no branch or tag can have"
    if reason:
        raise SourceError(f"'{shown}' {reason}. Give a branch, a tag or a full commit.")
    return text


def parse_subpath(text: str) -> str:
    """A path inside a repository; the empty text is its root."""
    shown = escape_hidden(text[:100])
    if text.startswith("/") or "\\" in text or HIDDEN_OR_LAYOUT.search(text) or len(text) > 1024:
        raise SourceError(f"'{shown}' is not a path inside a repository")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise SourceError(f"'{shown}' leaves the repository")
    return "/".join(parts[:-1] if parts[-1:] == ["SKILL.md"] else parts)
