"""`agent uninstall`: list and remove the files this program created."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Yes, examples
from skillkit.agent.cli.skill.installing import installer
from skillkit.agent.local.files import cache_folder
from skillkit.core.disk import agent_home, remove_tree, user_home
from skillkit.core.text import escape_hidden
from skillkit.install.inspection import Verification
from skillkit.install.installer import SkillInstaller
from skillkit.install.placement import PlaceState
from skillkit.install.registry_state import RemovedSkill
from skillkit.scripts.secret_store import SecretStore

app = Family()

OURS = {
    "installed skills": ("store", "skills/registry.json*", "skills/selection.json*", "carried-over"),
    "approvals": ("consents.json*",),
    "locks between programs": ("*.lock",),
    "sources of skills": ("skill-sources.json*", "mcp-skills"),
    "settings": ("settings.json*",),
    "conversations and what you typed": ("sessions", "history", "memory.db*", "logs"),
    "the record of what skills did": ("journal.sqlite*", "tests"),
    "packages, copies and files of scripts": ("environments", "trees", "outputs", "cache"),
    "secrets that are not in a keyring": ("secrets.json*",),
    "this machine's part in a fleet": ("fleet", "fleet.key*"),
}
"""Files the program writes into its home folder; all others belong to the user."""
_REMOVABLE = (PlaceState.CURRENT, PlaceState.OLDER, PlaceState.BROKEN)


@dataclass(frozen=True, slots=True)
class Part:
    """A file or folder this program created."""

    what: str
    path: Path
    bytes: int


@dataclass(frozen=True, slots=True)
class InstalledParts:
    """All files this program created, and those that are kept."""

    parts: list[Part]
    secrets: list[str]
    """Their names in the keyring."""
    kept: list[tuple[Path, str]]
    """Paths that are kept, with the reason."""


@app.command(
    "uninstall",
    short_help="List and remove the files this program created.",
    epilog=examples("agent uninstall --list", "agent uninstall", "agent uninstall --yes"),
)
def uninstall(
    list_only: Annotated[
        bool, typer.Option("--list", "-l", help="List the files without removing them.")
    ] = False,
    yes: Yes = False,
) -> Result:
    """List what this program put on the machine and, after a question, remove it.

    Your own skills, what you edited and what other programs put beside it stay. The package itself is
    removed with pip.
    """
    with installer(yes=yes) as (opened, asker):
        checks = opened.verify()
        found = find_traces(checks)
        _show(found)
        if list_only or not found.parts:
            return Result(_view(found, removed=False), lambda: None)
        if not asker.confirm("Remove all of this?"):
            output.remark("Nothing was removed. To skip the question: agent uninstall --yes")
            return Result(_view(found, removed=False), lambda: None, outcome.REFUSED)
        _remove(found, opened, checks)
    package = "To remove the package: pip uninstall skillkit"
    return Result(_view(found, removed=True), lambda: output.say(f"Removed. {package}"))


def find_traces(checks: list[Verification]) -> InstalledParts:
    """Look at the home folder, caches and other clients' folders; `checks` are the installed skills."""
    home, cache = agent_home(), cache_folder().parent
    parts, kept = [], []
    for check in checks:
        if check.edits:
            kept.append((home / "skills" / check.skill.name_canonical, "you edited it"))
        for place in check.places:
            path = Path(place.place.path)
            if place.state in _REMOVABLE:
                parts.append(
                    Part(f"{check.skill.name} for {', '.join(place.place.clients)}", path, _size(path))
                )
            elif place.state is not PlaceState.MISSING:
                kept.append((path, place.state.value))
    links = {home / "skills" / check.skill.name_canonical for check in checks}
    for path in _entries(home):
        what = next((what for what, names in OURS.items() if _matches(path, home, names)), None)
        if what is not None:
            parts.append(Part(what, path, _size(path)))
        elif path not in links:
            kept.append((path, "yours, or the data of a server"))
    if cache.is_dir():
        parts.append(Part("the model and search indexes", cache, _size(cache)))
    for path in (user_home() / ".bash_completions/agent.sh", user_home() / ".zfunc/_agent"):
        if path.exists():
            kept.append((path, "completion: delete it, and the line about it in your shell's settings"))
    store = SecretStore()
    return InstalledParts(parts, store.names() if store.names() and store.in_keyring else [], kept)


def _entries(home: Path) -> Iterator[Path]:
    """Yield what is in the home folder; of `skills`, each entry."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted(home.iterdir()):
            if path.name == "skills" and path.is_dir():
                yield from sorted(path.iterdir())
            else:
                yield path


def _matches(path: Path, home: Path, names: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path.relative_to(home).as_posix().removeprefix("."), name) for name in names)


def _size(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    inside = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sum(each.lstat().st_size for each in inside)


def _show(found: InstalledParts) -> None:
    rows = [(part.what, f"{part.bytes / 1e6:,.1f} MB", str(part.path)) for part in found.parts]
    rows += [("a secret in the keyring", "-", name) for name in found.secrets]
    if rows:
        output.facts_on_stderr([(what, f"{size}  {where}", "") for what, size, where in rows])
    else:
        output.remark("Nothing to remove.")
    for path, why in found.kept:
        output.remark(f"Stays: {escape_hidden(str(path))} ({why})")


def _view(found: InstalledParts, *, removed: bool) -> dict[str, object]:
    return {
        "removed": removed,
        "parts": [{"what": each.what, "path": str(each.path), "bytes": each.bytes} for each in found.parts],
        "secrets": found.secrets,
        "kept": [{"path": str(path), "why": why} for path, why in found.kept],
    }


def _remove(found: InstalledParts, opened: SkillInstaller, checks: list[Verification]) -> None:
    """Remove the files, skills first, so that an interruption leaves a program without skills."""
    edited = {check.skill.name_canonical: check.skill for check in checks if check.edits}
    moment = opened.registry.now().isoformat(timespec="seconds")
    with opened.registry.transaction() as state:
        state.removed += [RemovedSkill(skill, moment) for skill in state.skills.values()]
        state.skills.clear()
    for name, skill in edited.items():
        _keep_copy(opened.store.path(skill.stored), agent_home() / "skills" / name)
    for secret in found.secrets:
        SecretStore().remove(secret)
    opened.registry.journal.close()
    for part in (*found.parts, *find_traces([]).parts):  # the record was written to just now
        remove_tree(part.path)
    for folder in (agent_home() / "skills", agent_home()):
        with suppress(OSError):  # what is left in it is the user's
            folder.rmdir()


def _keep_copy(stored: Path, folder: Path) -> None:
    """Turn an edited skill into a folder of the user."""
    shutil.copytree(stored, folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
