"""A git repository at one commit: its folders and files as objects, checked, and never checked out."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import GitError, InstallError, NetworkError, Remedy, UnsafeTreeError
from skillkit.install.paths import check_paths, safe_name
from skillkit.install.sources.git_remote import GitRemote, ResolvedRef
from skillkit.install.sources.layout import SKILL_FILE, Folder, Listing, find_skills, join, other_spelling
from skillkit.install.sources.source import OpenSource, Source
from skillkit.install.tree import ANY_SIZE, MAX_HEADER_FILE, SkillTree, TreeFile, TreeLimits

MAX_EARLIER = 100
MAX_TREES = 20_000
MAX_TREE_BYTES = 16 * 1024 * 1024
_PLAIN = ("100644", "100755")
_KINDS = {"120000": "a symbolic link", "160000": "a submodule"}


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    name: bytes
    oid: str

    @property
    def is_folder(self) -> bool:
        return self.mode in ("40000", "040000")


class RepositoryTree:
    """The folders of one commit, read as objects and only as far as they are asked for."""

    def __init__(self, remote: GitRemote, commit: str) -> None:
        self._remote = remote
        self._commit = commit
        self._known: dict[str, list[_Entry]] = {}

    def listing(self, start: str = "") -> Listing:
        """Return the folders beneath `start` that hold a skill."""
        self._at(start)
        return find_skills(self._look, start)

    def _look(self, paths: Iterable[str]) -> dict[str, Folder]:
        oids = {path: self._oid(path) for path in paths}
        self._load(list(oids.values()))
        return {path: _folder(self._entries(oid)) for path, oid in oids.items()}

    def file_oid(self, folder: str, name: str) -> str:
        """Return the object id of one file."""
        for entry in self._at(folder):
            if entry.name == name.encode() and entry.mode in _PLAIN:
                return entry.oid
        raise UnsafeTreeError(f"Refused: {escape_hidden(join(folder, name))} is not a plain file")

    def files(self, path: str, limits: TreeLimits) -> dict[str, tuple[str, bool]]:
        """Return object id and executable bit of every file beneath `path`, all checked."""
        files: dict[str, tuple[str, bool]] = {}
        for name, entry in self._walk(self._at(path), ""):
            files[name] = (entry.oid, entry.mode == "100755")
            if len(files) > limits.max_files:
                raise UnsafeTreeError(
                    f"The skill has more than {limits.max_files:,} files", remedy=Remedy.ALLOW_MORE
                )
        check_paths(files)
        return files

    def _walk(self, entries: Sequence[_Entry], prefix: str) -> Iterator[tuple[str, _Entry]]:
        names: set[bytes] = set()
        self._load([entry.oid for entry in entries if entry.is_folder])
        for entry in entries:
            path = prefix + safe_name(entry.name, prefix)
            if entry.name in names:
                raise UnsafeTreeError(f"Refused: '{escape_hidden(path)}' is in the tree twice")
            names.add(entry.name)
            if entry.is_folder:
                if prefix.count("/") > 16:
                    raise UnsafeTreeError(f"Refused: '{escape_hidden(path)}' is nested too deep")
                yield from self._walk(self._entries(entry.oid), f"{path}/")
            elif entry.mode in _PLAIN:
                yield path, entry
            else:
                kind = _KINDS.get(entry.mode, f"of the unknown kind {escape_hidden(entry.mode)}")
                raise UnsafeTreeError(
                    f"Refused: '{escape_hidden(path)}' is {kind}; "
                    "a skill may hold plain files and folders only"
                )

    def _at(self, path: str) -> list[_Entry]:
        return self._entries(self._oid(path))

    def _oid(self, path: str) -> str:
        """Return the object id of the folder `path`."""
        oid = self._commit
        for part in path.split("/") if path else ():
            name = part.encode()
            below = [entry for entry in self._entries(oid) if entry.name == name and entry.is_folder]
            if not below:
                raise InstallError(
                    f"{self._remote.shown} has no folder '{escape_hidden(path)}' at {self._commit[:8]}"
                )
            oid = below[0].oid
        return oid

    def _entries(self, oid: str) -> list[_Entry]:
        if oid not in self._known:
            self._load([oid])
        return self._known[oid]

    def _load(self, oids: Sequence[str]) -> None:
        """Read many folders with two runs of git."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._known]
        if len(wanted) + len(self._known) > MAX_TREES:
            raise UnsafeTreeError(f"More than {MAX_TREES:,} folders to search", remedy=Remedy.GIVE_PATH)
        if not wanted:
            return
        names = [f"{oid}^{{tree}}" for oid in wanted]
        total = 0
        for oid, found in zip(wanted, self._remote.objects(names), strict=True):
            if found is None:
                raise GitError(f"{self._remote.shown} did not send the folder {oid}. Try again.")
            total += found.size
        if total > MAX_TREE_BYTES:
            raise UnsafeTreeError(f"Folders of the repository hold {total:,} bytes of names")
        for oid, data in zip(wanted, self._remote.read(names, limit=total), strict=True):
            self._known[oid] = _parsed(data)


def read_skills(
    remote: GitRemote, tree: RepositoryTree, paths: Sequence[str], limits: TreeLimits
) -> list[SkillTree | InstallError]:
    """Read skills of a fetched commit, complete and checked; only their files are transferred."""
    listed = [_listed(tree, path, limits) for path in paths]
    everything = [oid for files in listed if isinstance(files, dict) for oid, _ in files.values()]
    # Packed contents are never much larger than the files, so this stops a bomb early.
    remote.fetch_blobs(everything, max_pack=len(paths) * limits.max_bytes + 4 * 1024 * 1024)
    return [_read_files(remote, files, limits) if isinstance(files, dict) else files for files in listed]


def _listed(
    tree: RepositoryTree, path: str, limits: TreeLimits
) -> dict[str, tuple[str, bool]] | InstallError:
    try:
        return tree.files(path, limits)
    except InstallError as error:
        return error


def _read_files(
    remote: GitRemote, files: Mapping[str, tuple[str, bool]], limits: TreeLimits
) -> SkillTree | InstallError:
    oids = [oid for oid, _ in files.values()]
    total = remote.total_size(oids)
    if total > limits.max_bytes:
        return UnsafeTreeError(
            f"The skill has {total:,} bytes; the limit is {limits.max_bytes:,}", remedy=Remedy.ALLOW_MORE
        )
    contents = remote.read(oids, limit=total)
    return SkillTree(
        {
            name: TreeFile(content, executable)
            for (name, (_, executable)), content in zip(files.items(), contents, strict=True)
        }
    )


def _parsed(data: bytes) -> list[_Entry]:
    entries: list[_Entry] = []
    position = 0
    while position < len(data):
        space = data.index(b" ", position)
        end = data.index(b"\0", space)
        oid = data[end + 1 : end + 21]
        entries.append(_Entry(data[position:space].decode("ascii"), data[space + 1 : end], oid.hex()))
        position = end + 21
    return entries


def _folder(entries: Sequence[_Entry]) -> Folder:
    skill = next(
        (entry for entry in entries if entry.name == SKILL_FILE.encode() and not entry.is_folder), None
    )
    folders = [entry.name for entry in entries if entry.is_folder]
    plain = [name.decode() for name in folders if name.isascii() and name.decode().isprintable()]
    is_plain = skill is not None and skill.mode in _PLAIN
    odd = "" if skill is None or is_plain else _KINDS.get(skill.mode, "of an unknown kind")
    if skill is None:
        odd = other_spelling(
            entry.name.decode("utf-8", "replace") for entry in entries if not entry.is_folder
        )
    return Folder(is_plain, odd, tuple(sorted(plain)), len(folders) - len(plain))


class OpenRepository(OpenSource):
    """A repository at one commit, which is transferred on first use."""

    def __init__(self, followed: Source, remote: GitRemote, resolved: ResolvedRef) -> None:
        self.followed = followed
        self.revision = self._commit = resolved.commit
        self._remote = remote
        self._resolved = resolved
        self._fetched: RepositoryTree | None = None
        self._histories: dict[str, list[str]] = {}
        if resolved.redirected_to is not None:
            moved = escape_hidden(resolved.redirected_to)
            self.notes = (f"the address now redirects to {moved}",)

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
            "tags are not expected to move"
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
            return ["could not check whether the new commit descends from the old one"]
        except GitError as error:
            return [f"its history could not be checked: {error}"]

    def _growth(self, revision: str, grew: bool | None) -> list[str]:
        if grew is None:
            return [
                f"the repository no longer has the installed commit {revision[:8]}: its "
                "history was rewritten, or the name now belongs to another repository"
            ]
        if grew:
            return []
        if self._remote.has_ancestor(revision, self._commit):
            return [f"it is OLDER than what is installed: from {revision[:8]} back to {self._commit[:8]}"]
        branch = self._resolved.branch
        what = f"branch '{branch}'" if branch else "history"
        return [f"the {escape_hidden(what)} was rewritten: the commit does not descend from {revision[:8]}"]


def _blob_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
