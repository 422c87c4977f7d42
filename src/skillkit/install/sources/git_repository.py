"""A git repository at one commit, read as objects and never checked out."""

import hashlib
from collections.abc import Iterator, Sequence

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import GitError, InstallError, NetworkError
from skillkit.install.sources.git_remote import GitRemote, Resolved
from skillkit.install.sources.git_tree import RepositoryTree, read_skills
from skillkit.install.sources.layout import SKILL_FILE, Listing
from skillkit.install.sources.source import OpenSource, Source
from skillkit.install.tree import ANY_SIZE, MAX_HEADER_FILE, SkillTree, TreeLimits

MAX_EARLIER = 100


class OpenRepository(OpenSource):
    """A repository at one commit; the commit is transferred when something of it is wanted."""

    def __init__(self, followed: Source, remote: GitRemote, resolved: Resolved) -> None:
        self.followed = followed
        self.revision = self._commit = resolved.commit
        self._remote = remote
        self._resolved = resolved
        self._fetched: RepositoryTree | None = None
        self._histories: dict[str, list[str]] = {}
        if resolved.redirected_to is not None:
            moved = escape_hidden(resolved.redirected_to)
            self.notes = (f"the address leads to another one now: {moved}",)

    @property
    def _tree(self) -> RepositoryTree:
        if self._fetched is None:
            self._remote.fetch(self._commit)
            self._fetched = RepositoryTree(self._remote, self._commit)
        return self._fetched

    def listing(self, start: str = "") -> Listing:
        return self._tree.listing(start)

    def headers(self, paths: Sequence[str]) -> list[bytes]:
        oids = [self._tree.file_oid(path, SKILL_FILE) for path in paths]
        self._remote.fetch_blobs(oids)
        total = self._remote.total_size(oids)
        if total > MAX_HEADER_FILE * len(oids):
            raise InstallError(f"SKILL.md files of {self.followed} are too large to choose from")
        return list(self._remote.read(oids, limit=total))

    def read_file(self, path: str) -> bytes | None:
        folder, _, name = path.rpartition("/")
        try:
            oid = self._tree.file_oid(folder, name)
        except GitError:
            raise
        except InstallError:
            return None
        self._remote.fetch_blobs([oid], max_pack=4 * MAX_HEADER_FILE)
        [found] = self._remote.objects([oid])
        if found is None or found.size > 4 * MAX_HEADER_FILE:
            return None
        return next(iter(self._remote.read([oid], limit=found.size)))

    def read(self, paths: Sequence[str], limits: TreeLimits) -> list[SkillTree | InstallError]:
        return read_skills(self._remote, self._tree, paths, limits)

    def transfer(self, paths: Sequence[str], limits: TreeLimits) -> None:
        read_skills(self._remote, self._tree, paths, limits)

    def earlier(self, path: str, limits: TreeLimits) -> Iterator[tuple[str | None, SkillTree]]:
        self._tree  # noqa: B018 - what is newest is transferred first, and often it is enough
        seen: set[str] = set()
        for commit in self._commits_of(path):
            [folder] = self._remote.objects([f"{commit}:{path}"])
            if folder is None or folder.oid in seen:
                continue
            seen.add(folder.oid)
            tree = RepositoryTree(self._remote, folder.oid)
            found = read_skills(self._remote, tree, [""], limits)[0]
            if isinstance(found, SkillTree):
                yield commit, found

    def _commits_of(self, path: str) -> Iterator[str]:
        yield self._commit
        yield from self._remote.changes_of(self._commit, path, MAX_EARLIER)

    def is_vouched_for(self) -> bool:
        if self._resolved.branch or self._resolved.tag:
            return True
        self._tree  # noqa: B018 - the commit has to be here before it can be looked for
        return self._remote.is_published(self._commit)

    def holds(self, path: str, tree: SkillTree) -> bool:
        """Compare by git's own names of the files, so that none of them is transferred."""
        here = {name: (_blob_oid(file.content), file.executable) for name, file in tree.files.items()}
        return self._tree.files(path, ANY_SIZE) == here

    def moved(self, revision: str | None) -> list[str]:
        tag = self._resolved.tag
        if revision is None or revision == self._commit or not tag:
            return []
        return [
            f"the tag '{escape_hidden(tag)}' was moved from {revision[:8]} to {self._commit[:8]}; "
            "an honest tag stays where it is"
        ]

    def history(self, revision: str | None) -> list[str]:
        if revision is None or revision == self._commit:
            return []
        if revision not in self._histories:
            self._histories[revision] = self._history(revision)
        return self._histories[revision]

    def _history(self, revision: str) -> list[str]:
        self._tree  # noqa: B018 - the new commit has to be here before its ancestors can be
        try:
            return self._growth(revision, self._remote.has_ancestor(self._commit, revision))
        except NetworkError:
            return ["whether the new commit grew out of the old one could not be checked"]
        except GitError as error:
            return [f"its history could not be checked: {error}"]

    def _growth(self, revision: str, grew: bool | None) -> list[str]:
        if grew is None:
            return [
                f"the repository does not have the installed commit {revision[:8]} any more: its "
                "history was rewritten, or the name now belongs to another repository"
            ]
        if grew:
            return []
        if self._remote.has_ancestor(revision, self._commit):
            return [f"it is OLDER than what is installed: from {revision[:8]} back to {self._commit[:8]}"]
        branch = self._resolved.branch
        what = f"branch '{branch}'" if branch else "history"
        return [f"the {escape_hidden(what)} was rewritten: the new commit did not grow out of {revision[:8]}"]


def _blob_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
