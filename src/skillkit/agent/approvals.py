"""Whether a skill's scripts may run: the user's word about exact bytes, never the conversation's."""

import json
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

from skillkit.core.disk import agent_home, locked, make_folder, replace_file
from skillkit.core.models import SkillMetadata
from skillkit.core.shipped import is_as_shipped
from skillkit.scripts.policy import Grants

FORMAT = 1


class Decision(str, Enum):
    """What the user says when asked."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Question:
    """A run that waits for the user's word."""

    skill: SkillMetadata
    script: str
    arguments: Sequence[str]
    digest: str

    @property
    def command(self) -> str:
        return shlex.join([self.script, *self.arguments])


Ask = Callable[[Question], Awaitable[Decision]]


class ApprovalFile:
    """approvals.json: digests whose scripts may always run."""

    def __init__(self, home: Path | None = None) -> None:
        self.path = (home or agent_home()) / "approvals.json"

    def load(self) -> dict[str, dict[str, str]]:
        """What is approved, by digest; a file that cannot be read approves nothing."""
        try:
            data = json.loads(self.path.read_bytes())
            approved = data["digests"] if data["version"] == FORMAT else {}
            return dict(approved)
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def grant(self, digest: str, skill: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with locked(self.path.with_name(".approvals.lock")):
            self._save({**self.load(), digest: {"skill": skill, "granted_at": now}})

    def revoke(self, skill: str) -> int:
        """Take back every approval of a skill; answers how many there were."""
        with locked(self.path.with_name(".approvals.lock")):
            before = self.load()
            kept = {digest: entry for digest, entry in before.items() if entry.get("skill") != skill}
            self._save(kept)
            return len(before) - len(kept)

    def _save(self, digests: dict[str, dict[str, str]]) -> None:
        make_folder(self.path.parent)
        data = json.dumps({"version": FORMAT, "digests": digests}, indent=1) + "\n"
        replace_file(self.path, data.encode(), 0o600)


class Approvals:
    """The policy of script runs in one program; decisions bind to the digest of the skill's whole tree."""

    def __init__(self, file: ApprovalFile) -> None:
        self.file = file
        self._session: set[str] = set()
        self._once: set[str] = set()

    def grants(self, skill: SkillMetadata, digest: str) -> Grants:
        """What scripts of this tree may do; a skill gets what its header asks for and the user approved."""
        if self.approved(skill, digest):
            return Grants.as_requested(skill)
        return Grants(
            run=False,
            reason=f"Scripts of the skill '{skill.name}' need the user's approval. Nothing was run. "
            f"The user can grant it with: agent config approve {skill.name}",
        )

    def approved(self, skill: SkillMetadata, digest: str) -> bool:
        if is_as_shipped(skill):
            return True  # as much a part of the program as its own tools
        return digest in self._session or digest in self._once or digest in self.file.load()

    def decide(self, question: Question, decision: Decision) -> None:
        match decision:
            case Decision.ONCE:
                self._once.add(question.digest)
            case Decision.SESSION:
                self._session.add(question.digest)
            case Decision.ALWAYS:
                self.file.grant(question.digest, question.skill.canonical_name)
            case Decision.NO:
                pass

    def used(self, digest: str) -> None:
        """A run is over: what was allowed once is no longer allowed."""
        self._once.discard(digest)
