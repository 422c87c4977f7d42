"""What became of a source since a skill was installed: newer, moved, rewritten, taken over."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import GitError, InstallError, NetworkError
from skillkit.install.git import GitRemote, Resolved
from skillkit.install.registry import InstalledSkill

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Freshness:
    """An installed skill compared with its source."""

    skill: InstalledSkill
    latest: str | None = None
    """The commit of its branch or tag now."""
    note: str = ""
    error: str = ""

    @property
    def outdated(self) -> bool:
        return self.latest is not None and self.latest != self.skill.commit_sha


def tracked_ref(skill: InstalledSkill) -> str | None:
    """What an update follows: the tag, the branch, or the one commit that was asked for."""
    if skill.tag:
        return f"refs/tags/{skill.tag}"
    return f"refs/heads/{skill.branch}" if skill.branch else skill.commit_sha


def freshness(skills: Sequence[InstalledSkill], remote: Callable[[str], GitRemote]) -> list[Freshness]:
    """Ask every source at once; one that does not answer is an error of its own."""

    def ask(skill: InstalledSkill) -> Freshness:
        if skill.git_url is None:
            return Freshness(skill, note="taken from a folder")
        if not (skill.branch or skill.tag):
            return Freshness(skill, skill.commit_sha, note="pinned to its commit")
        try:
            with remote(skill.git_url) as opened:
                resolved = opened.resolve(tracked_ref(skill))
                notes = [*moved(resolved), *_moved_tag(skill, resolved.commit)]
        except InstallError as error:
            return Freshness(skill, error=str(error))
        return Freshness(skill, resolved.commit, "; ".join(notes))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(ask, skills))


def moved(resolved: Resolved | None) -> tuple[str, ...]:
    """Where the address led to instead of where it used to lead."""
    if resolved is None or resolved.redirected_to is None:
        return ()
    return (f"the address leads to another one now: {escape_hidden(resolved.redirected_to)}",)


def what_happened(remote: GitRemote, old: InstalledSkill, new: InstalledSkill) -> list[str]:
    """How the source got from the installed commit to the new one, if not by plain growth."""
    if old.commit_sha is None or new.commit_sha is None or old.commit_sha == new.commit_sha:
        return []
    notes = list(_moved_tag(old, new.commit_sha)) if old.tag == new.tag else []
    try:
        grew = remote.has_ancestor(new.commit_sha, old.commit_sha)
    except NetworkError:
        return [*notes, "whether the new commit grew out of the old one could not be checked"]
    except GitError as error:
        return [*notes, f"its history could not be checked: {error}"]
    if grew is None:
        notes.append(
            f"the repository does not have the installed commit {old.commit_sha[:8]} any more: its "
            "history was rewritten, or the name now belongs to another repository"
        )
    elif not grew:
        what = f"branch '{new.branch}'" if new.branch else "history"
        notes.append(
            f"the {escape_hidden(what)} was rewritten: the new commit did not grow out of "
            f"{old.commit_sha[:8]}"
        )
    return notes


def _moved_tag(skill: InstalledSkill, commit: str) -> tuple[str, ...]:
    if not skill.tag or commit == skill.commit_sha:
        return ()
    before = (skill.commit_sha or "")[:8]
    return (
        f"the tag '{escape_hidden(skill.tag)}' was moved from {before} to {commit[:8]}; "
        "an honest tag stays where it is",
    )
