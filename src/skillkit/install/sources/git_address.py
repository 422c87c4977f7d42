"""The grammar of repositories: shorthands, addresses, web pages and refs."""

import os
import re
from urllib.parse import unquote, urlsplit

from skillkit.core.text import HIDDEN_OR_LAYOUT, escape_hidden
from skillkit.install.exceptions import SourceError
from skillkit.install.sources.source import LOOPBACK, checked_path

_SCHEMES = ("https://", "ssh://", "file://", "http://")
BRANCH, TAG = "refs/heads/", "refs/tags/"
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
_REF_REFUSED = re.compile(r"[\s~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)")


Address = tuple[str, str | None, str]
"""The address of a repository, the ref, and the path in it."""


def parse_address(text: str) -> Address | None:
    """Return the repository that `text` names; None if it is neither an address nor a shorthand."""
    shown = escape_hidden(text[:100])
    if _HELPER.match(text):
        raise SourceError(f"'{shown}' names a remote helper, which could run any program. {_REMEDY}")
    if "://" in text:
        return _address(text) if text.startswith(_SCHEMES) else None
    if scp := _SCP.fullmatch(text):
        path = _plain_path(scp["path"].lstrip("/"), shown)
        ref = parse_ref(scp["ref"]) if scp["ref"] else None
        return f"ssh://{scp['user']}@{scp['host']}/{path}", ref, ""
    if shorthand := _SHORTHAND.fullmatch(text):
        name = _repository(shorthand["repository"], shown)
        ref = parse_ref(shorthand["ref"]) if shorthand["ref"] else None
        path = checked_path(shorthand["path"] or "")
        return f"https://{_default_host()}/{shorthand['owner']}/{name}", ref, path
    return None


_REMEDY = "Write owner/repo, an https://, ssh:// or file:// address, or ./folder."


def _address(text: str) -> Address:
    shown = escape_hidden(text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise SourceError(f"'{shown}' is not an address: {error}") from error
    host = parts.hostname or ""
    if parts.scheme == "http" and host not in LOOPBACK:
        raise SourceError(f"'{shown}' is not encrypted. Use https://.")
    if parts.password is not None or (parts.username is not None and parts.scheme != "ssh"):
        raise SourceError(
            "The address carries a user name, a token or a password, which would end up in files and process "
            "lists. Leave it out; git asks your credential helper."
        )
    if parts.query:
        raise SourceError(f"'{shown}' has a query (?…), which a repository address cannot have")
    ref = parse_ref(unquote(parts.fragment)) if parts.fragment else None
    if parts.scheme == "file":
        if parts.netloc or not parts.path.startswith("/"):
            raise SourceError(f"'{shown}': write file:// and an absolute path")
        return f"file://{_plain_path(parts.path, shown)}", ref, ""
    if not _HOST.fullmatch(parts.netloc.rpartition("@")[2].removesuffix(f":{port}")):
        raise SourceError(f"'{shown}' has no valid host")
    if parts.username is not None and not _USER.fullmatch(parts.username):
        raise SourceError(f"'{shown}' has an invalid user name")
    if host == "github.com" and (web := _WEB.fullmatch(parts.path)) and ref is None:
        inside = (web["path"] or "").removesuffix("SKILL.md").strip("/")
        name = _repository(web["repository"], shown)
        return f"https://github.com/{web['owner']}/{name}", parse_ref(web["ref"]), checked_path(inside)
    path = _plain_path(parts.path, shown)
    if path.strip("/") == "":
        raise SourceError(f"'{shown}' names a host but no repository")
    return f"{parts.scheme}://{parts.netloc}{path.rstrip('/')}", ref, ""


def stock_form(url: str) -> str:
    """Return the address in the form that `npx skills` recognises as a repository.

    It takes http(s) without `.git` for a site, and `#ref` only behind `.git` and `git@host:path`.
    """
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        return f"{url.removesuffix('.git')}.git"
    if parts.scheme == "ssh" and parts.username == "git" and parts.port is None:
        return f"git@{parts.hostname}:{parts.path.lstrip('/')}"
    return url


def _plain_path(path: str, shown: str) -> str:
    if ".." in path.split("/") or path.lstrip("/").startswith("-") or "\\" in path:
        raise SourceError(f"'{shown}' has an invalid path")
    return path


def _repository(name: str, shown: str) -> str:
    name = name.removesuffix(".git")
    if name in ("", ".", ".."):
        raise SourceError(f"'{shown}' names no repository")
    return name


def _default_host() -> str:
    """Return the host of `owner/repo`; GH_HOST overrides it, as in GitHub's own CLI."""
    host = os.environ.get("GH_HOST") or "github.com"
    if not _HOST.fullmatch(host):
        raise SourceError(f"GH_HOST is not a host: '{escape_hidden(host[:100])}'")
    return host


def parse_ref(text: str) -> str:
    """Validate a branch, tag or full commit, so that git cannot read it as anything else."""
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
