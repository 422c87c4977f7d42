"""Real repositories for tests: honest ones, and trees that only plumbing can write."""

import hashlib
import os
import subprocess
import zlib
from pathlib import Path

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}


CONFIGURATION = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
[uploadpack]
\tallowFilter = true
\tallowAnySHA1InWant = true
"""


def skill_text(name: str, body: str = "Do it.", **fields: str) -> str:
    """A SKILL.md."""
    lines = {"name": name, "description": f"What {name} does.", **fields}
    header = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in lines.items())
    return f"---\n{header}---\n\n{body}\n"


class Repository:
    """A repository on disk without a working tree, so any tree can be made.

    Its objects and refs are written here, for git's own programs take longer to start than to write them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = 1_700_000_000
        for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (path / folder).mkdir(parents=True)
        (path / "HEAD").write_text("ref: refs/heads/main\n")
        (path / "config").write_text(CONFIGURATION)

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def git(self, *arguments: str, send: bytes = b"", **environment: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env={**ENVIRONMENT, **environment},
            input=send,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return done.stdout.decode().strip()

    def blob(self, content: bytes) -> str:
        return self.object("blob", content)

    def object(self, kind: str, content: bytes) -> str:
        """Write an object as it is; git's own checks would refuse the trees an attacker makes."""
        data = f"{kind} {len(content)}".encode() + b"\0" + content
        oid = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        path = self.path / "objects" / oid[:2] / oid[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(data))
        return oid

    def raw_tree(self, entries: list[tuple[str, bytes, str]]) -> str:
        """A tree of (mode, name, object id) exactly as given."""
        return self.object(
            "tree",
            b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries),
        )

    def tree(self, files: dict[str, bytes | str]) -> str:
        """A tree of folders; a key may carry a mode in front: `100755 run.sh`."""
        entries: list[tuple[str, bytes, str]] = []
        folders: dict[str, dict[str, bytes | str]] = {}
        for key, content in files.items():
            mode, _, path = key.rpartition(" ")
            head, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(head, {})[f"{mode} {rest}" if mode else rest] = content
            else:
                data = content.encode() if isinstance(content, str) else content
                entries.append((mode or "100644", path.encode(), self.blob(data)))
        entries += [("40000", name.encode(), self.tree(inner)) for name, inner in folders.items()]
        entries.sort(key=lambda entry: entry[1] + (b"/" if entry[0] == "40000" else b""))
        return self.raw_tree(entries)

    def commit_tree(self, tree: str, *, ref: str = "refs/heads/main", fresh: bool = False) -> str:
        """A commit of `tree` on `ref`; `fresh` starts a history that has nothing before it."""
        self.clock += 60
        place = self.path / ref
        parent = f"parent {place.read_text().strip()}\n" if place.exists() and not fresh else ""
        people = "".join(
            f"{role} Ada <ada@example.com> {self.clock} +0000\n" for role in ("author", "committer")
        )
        commit = self.object("commit", f"tree {tree}\n{parent}{people}\nchange\n".encode())
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{commit}\n")
        return commit

    def commit(
        self, files: dict[str, bytes | str], *, ref: str = "refs/heads/main", fresh: bool = False
    ) -> str:
        return self.commit_tree(self.tree(files), ref=ref, fresh=fresh)
