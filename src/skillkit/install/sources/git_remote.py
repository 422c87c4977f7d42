"""Run git with fixed arguments and a clean environment: it transfers objects and runs no fetched code.

A scratch repository that is bare and thrown away receives one commit; its objects are read, never
checked out. The user's configuration for remotes (credentials, proxies, ssh) stays in
force; system configuration, hooks, templates, filters, submodules and monitors do not.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from skillkit.core.process import FolderLimit, run
from skillkit.core.text import count_of, escape_hidden
from skillkit.install.exceptions import (
    AccessError,
    GitError,
    NetworkError,
    RefNotFoundError,
    Remedy,
)
from skillkit.install.sources.download import find_redirect, same_host
from skillkit.install.sources.git_address import BRANCH, FULL_COMMIT, TAG
from skillkit.install.sources.git_errors import git_error
from skillkit.install.sources.source import Access

_PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"),
    *("SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND"),
    *("GIT_CONFIG_GLOBAL", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "KRB5CCNAME"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE"),
)
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.symlinks": "false",
    "core.bigFileThreshold": "1m",
    "init.templateDir": "",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.version": "2",
    "credential.interactive": "false",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "500",
    "http.lowSpeedTime": "30",
}
# Not "origin": the user's configuration may have settings for that name.
_REMOTE = "skillkit-source"
_PROMISE = {
    f"remote.{_REMOTE}.promisor": "true",
    f"remote.{_REMOTE}.partialclonefilter": "blob:none",
}
_CONFIGURATION = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_FETCH = (
    *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
    *("--no-auto-maintenance", "--no-auto-gc"),
)
_EVERY_REF = ("+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*")
_SCRATCH = "skillkit-git-"
_FORGOTTEN = 24 * 3600
_LONG_TRY = 10.0
"""Seconds after which a failed try is not worth another."""
MAX_ANSWER = 8 * 1024 * 1024
MAX_PACK = 1024 * 1024 * 1024
_FINAL = (NetworkError, AccessError, RefNotFoundError)
"""Errors that fetching everything instead would not avoid."""


_REFS = "/info/refs?service=git-upload-pack"
_REDIRECT = re.compile(r"The requested URL returned error: 30[12378]")


class _RedirectedError(GitError, code="redirected"):
    """The server redirects; git does not follow redirects itself."""


@dataclass(frozen=True, slots=True)
class ResolvedRef:
    """A ref, resolved to a commit."""

    commit: str
    branch: str | None = None
    tag: str | None = None
    redirected_to: str | None = None
    """The new address, if the repository has moved."""

    @property
    def ref(self) -> str:
        """The ref to follow: the tag, the branch, or the one commit."""
        if self.tag:
            return f"{TAG}{self.tag}"
        return f"{BRANCH}{self.branch}" if self.branch else self.commit


class GitObject(NamedTuple):
    """A commit, folder or file."""

    oid: str
    kind: str
    size: int


class GitRemote:
    """One remote repository, seen through a scratch repository; use as a context manager."""

    def __init__(self, url: str, access: Access | None = None) -> None:
        access = self._access = access or Access()
        self.url = url
        self.timeout = access.timeout
        self.back_off = access.back_off
        self.progress = access.progress
        self._stop = access.stop
        self._left = access.timeout
        self._scratch: Path | None = None
        self._redirected_to: str | None = None

    def __enter__(self) -> "GitRemote":
        _sweep(tempfile.gettempdir())
        scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH))
        for folder in ("objects/info", "objects/pack", "refs"):
            (scratch / folder).mkdir(parents=True)
        (scratch / "HEAD").write_text("ref: refs/heads/none\n")
        (scratch / "config").write_bytes(_CONFIGURATION)
        self._scratch = scratch
        return self

    def __exit__(self, *_: object) -> None:
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    @property
    def scratch(self) -> Path:
        if self._scratch is None:
            raise RuntimeError("GitRemote is used outside its `with` block")
        return self._scratch

    # Asking the remote

    def resolve(self, ref: str | None) -> ResolvedRef:
        """Resolve `ref` to a commit; a full commit is itself, whatever branches are called."""
        self.progress(f"Asking {self.url}")
        if ref is not None and FULL_COMMIT.fullmatch(ref):
            return ResolvedRef(ref)
        short = (ref or "HEAD").removeprefix(BRANCH).removeprefix(TAG)
        wanted = ["HEAD"] if ref is None else [f"refs/heads/{short}", f"refs/tags/{short}"]
        answer = self._remote("ls-remote", "--symref", "--", _REMOTE, *wanted, f"refs/tags/{short}^{{}}")
        refs: dict[str, str] = {}
        head = None
        for line in answer.decode("utf-8", "replace").splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: ") and name == "HEAD":  # a clone has refs/remotes/origin/HEAD too
                head = value.removeprefix("ref: ").removeprefix(BRANCH)
            elif FULL_COMMIT.fullmatch(value):
                refs[name] = value
            elif len(value) == 64:
                raise GitError(f"{self.shown} uses SHA-256 object names, which are not supported")
        return self._chosen(ref, short, refs, head)

    def _chosen(self, ref: str | None, short: str, refs: Mapping[str, str], head: str | None) -> ResolvedRef:
        moved = self._redirected_to
        if ref is None:
            if "HEAD" not in refs:
                raise RefNotFoundError(f"{self.shown} is empty: it has no commit to install")
            return ResolvedRef(refs["HEAD"], branch=head, redirected_to=moved)
        branch = refs.get(f"refs/heads/{short}")
        tag = refs.get(f"refs/tags/{short}^{{}}") or refs.get(f"refs/tags/{short}")
        if branch and tag and branch != tag and not ref.startswith("refs/"):
            raise RefNotFoundError(
                f"{self.shown} has both a branch and a tag called '{short}'. "
                f"Say refs/heads/{short} or refs/tags/{short}."
            )
        if branch and not ref.startswith("refs/tags/"):
            return ResolvedRef(branch, branch=short, redirected_to=moved)
        if tag and not ref.startswith("refs/heads/"):
            return ResolvedRef(tag, tag=short, redirected_to=moved)
        raise RefNotFoundError(
            f"{self.shown} has no branch or tag '{escape_hidden(ref)}'. "
            "A commit needs all of its 40 characters.",
            remedy=Remedy.MAYBE_SKILL,
            skill=escape_hidden(short),
        )

    def fetch(self, commit: str) -> None:
        """Fetch `commit` and its folders, without file contents if the server can omit them."""
        self.progress(f"Fetching {commit[:8]} from {self.url}")
        self._fetch_part("--depth=1", "--filter=blob:none", _REMOTE, commit)
        [found] = self.objects([commit])
        if found is None or found.kind != "commit":
            raise RefNotFoundError(f"{self.shown} has no commit {commit}")

    def _fetch_part(self, *arguments: str) -> None:
        """Fetch part of the repository, or everything if the server cannot serve a part."""
        try:
            self._remote(*_FETCH, *arguments, config=_PROMISE)
        except _FINAL:
            raise
        except GitError:
            self._fetch_everything()

    def _fetch_everything(self) -> None:
        """Fetch all refs: some servers support neither shallow history nor single commits."""
        self._remote(*_FETCH, *self._whole_history, _REMOTE, *_EVERY_REF)

    @property
    def _whole_history(self) -> list[str]:
        return ["--unshallow"] if (self.scratch / "shallow").exists() else []

    def fetch_blobs(self, oids: Sequence[str], *, max_pack: int = MAX_PACK) -> None:
        """Fetch the missing contents in one request."""
        missing = [oid for oid, found in zip(oids, self.objects(oids), strict=True) if found is None]
        if not missing:
            return
        self.progress(f"Fetching {count_of(len(missing), 'file')} from {self.url}")
        self._remote(
            *("-c", "fetch.negotiationAlgorithm=noop"),
            *(*_FETCH, "--filter=blob:none", "--stdin", _REMOTE),
            config=_PROMISE,
            send=_lines(dict.fromkeys(missing)),
            max_pack=max_pack,
        )

    def changes_of(self, commit: str, path: str, limit: int) -> list[str]:
        """Return the commits before `commit` that changed `path`, the newest first."""
        self.progress(f"Fetching the history of {self.url}")
        self._fetch_part(*self._whole_history, "--filter=blob:none", _REMOTE, commit)
        listed = self._local("log", f"--max-count={limit}", "--format=%H", commit, "--", path or ".")
        return listed.decode().split()

    def is_published(self, commit: str) -> bool:
        """Return whether a branch or tag of the remote contains the fetched `commit`.

        Servers hand out the commits of every fork under the address of the original.
        """
        answer = self._remote("ls-remote", "--heads", "--tags", "--", _REMOTE)
        if any(line.startswith(commit.encode()) for line in answer.splitlines()):
            return True
        # The whole history, of commits only: some servers fail when nothing is as young as asked for.
        self._fetch_part("--filter=tree:0", _REMOTE, *_EVERY_REF)
        return bool(self._local("for-each-ref", "--count=1", f"--contains={commit}", "refs/all/"))

    def has_ancestor(self, commit: str, ancestor: str) -> bool | None:
        """Return whether `commit` descends from `ancestor`; None if the remote no longer has it."""
        try:
            self._fetch_part("--depth=1", "--filter=tree:0", _REMOTE, ancestor)
        except RefNotFoundError:
            return None
        if self.objects([ancestor]) == [None]:
            return None
        date = self._local("rev-list", "--timestamp", "--max-count=1", ancestor).decode().split()[0]
        since = f"--shallow-since=@{max(0, int(date) - 1)}"
        self._fetch_part(since, "--filter=tree:0", _REMOTE, commit, ancestor)
        try:
            self._local("merge-base", "--is-ancestor", ancestor, commit)
        except GitError:
            return False
        return True

    # Reading fetched objects

    def objects(self, revisions: Sequence[str]) -> list[GitObject | None]:
        """Return the object of each revision; None for one that was not fetched."""
        answer = self._local("cat-file", "--batch-check", send=_lines(revisions))
        found = [line.split() for line in answer.decode().splitlines()]
        return [GitObject(each[0], each[1], int(each[2])) if len(each) == 3 else None for each in found]

    def total_size(self, oids: Sequence[str]) -> int:
        """Return the total size of the fetched objects."""
        return sum(found.size for found in self.objects(oids) if found is not None)

    def read(self, oids: Sequence[str], *, limit: int) -> Iterator[bytes]:
        """Yield the contents of fetched objects, at most `limit` bytes in total."""
        answer = self._local(
            "cat-file",
            "--batch",
            send=_lines(oids),
            limit=limit + 128 * (len(oids) + 1),
        )
        position = 0
        for oid in oids:
            end = answer.index(b"\n", position)
            parts = answer[position:end].split()
            if len(parts) != 3:
                raise GitError(f"{self.shown} did not send the object {oid}. Try again.")
            start = end + 1
            position = start + int(parts[2]) + 1
            yield answer[start : position - 1]

    # Running git

    @property
    def shown(self) -> str:
        return escape_hidden(self.url)

    def _remote(
        self,
        *arguments: str,
        config: Mapping[str, str] | None = None,
        send: bytes = b"",
        max_pack: int = MAX_PACK,
    ) -> bytes:
        """Run a command that talks to the remote; retry after a pause if it failed quickly."""
        for pause in (*self.back_off, None):
            started = time.monotonic()
            try:
                try:
                    return self._ask(arguments, config, send, max_pack)
                except _RedirectedError:
                    self._follow_redirect()
                    return self._ask(arguments, config, send, max_pack)
            except NetworkError:
                if pause is None or time.monotonic() - started > _LONG_TRY or self._stop.is_set():
                    raise
                self.progress(f"{self.url} did not respond; retrying")
                time.sleep(pause)
            finally:
                # A filtered fetch writes itself into the configuration, and later reads would then
                # fetch missing objects one by one, behind our back.
                (self.scratch / "config").write_bytes(_CONFIGURATION)
        raise AssertionError("unreachable")

    def _ask(
        self, arguments: Sequence[str], config: Mapping[str, str] | None, send: bytes, max_pack: int
    ) -> bytes:
        named = {f"remote.{_REMOTE}.url": self.url, **(config or {})}
        return self._local(*arguments, config=named, send=send, max_pack=max_pack)

    def _local(
        self,
        *arguments: str,
        config: Mapping[str, str] | None = None,
        send: bytes = b"",
        limit: int = MAX_ANSWER,
        max_pack: int = MAX_PACK,
    ) -> bytes:
        program = shutil.which("git")
        if program is None:
            raise GitError("git is not installed, or not on the PATH")
        started = time.monotonic()
        answer = run(
            [program, f"--git-dir={self.scratch}", *arguments],
            environment=_environment({**_SETTINGS, **(config or {})}, self.url),
            cwd=self.scratch,
            send=send,
            limit=limit,
            timeout=self._left,
            stop=self._stop,
            watched=FolderLimit(self.scratch / "objects", max_pack),
        )
        self._left = max(1.0, self._left - (time.monotonic() - started))
        if answer.stopped:
            raise (NetworkError if "seconds" in answer.stopped else GitError)(
                f"{self.shown}: {answer.stopped}"
            )
        if answer.code != 0 and _REDIRECT.search(answer.complaint):
            raise _RedirectedError(self.shown)
        if answer.code != 0:
            raise git_error(self.shown, answer.complaint)
        return answer.output

    def _follow_redirect(self) -> None:
        """Continue at the address the server redirects to if it is on the same host; refuse any other."""
        place = None
        if self._redirected_to is None and self.url.startswith(("https://", "http://")):
            place = find_redirect(f"{self.url}{_REFS}", self._access)
        if place is None or not place.endswith(_REFS):
            raise GitError(f"{self.shown} redirects without naming a repository")
        place = place.removesuffix(_REFS)
        if not same_host(place, self.url):
            raise GitError(
                f"{self.shown} redirects to another host: {escape_hidden(place)}. "
                "Nothing was fetched; name that address if you trust it."
            )
        self.url = self._redirected_to = place


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _sweep(folder: str) -> None:
    """Delete scratch repositories that killed processes left behind at least a day ago."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_SCRATCH) and entry.is_dir(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.getuid() and time.time() - status.st_mtime > _FORGOTTEN:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _environment(settings: Mapping[str, str], url: str) -> dict[str, str]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    scheme = url.partition(":")[0]
    environment |= {
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",  # empty, not missing: core.askPass and SSH_ASKPASS would be asked next
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_ALLOW_PROTOCOL": ":".join({"https", "ssh", scheme}),
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (key, value) in enumerate(settings.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment
