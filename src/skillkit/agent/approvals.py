"""Whether a skill's scripts may run: the user's word about exact bytes, never the conversation's."""

import shlex
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from skillkit.core.authority import Authority, Requester, current_requester
from skillkit.core.availability import Refusal
from skillkit.core.grants import Grants
from skillkit.core.models import SkillMetadata
from skillkit.core.shipped import is_as_shipped
from skillkit.install.consents import Consent, ConsentFile, ConsentKind
from skillkit.install.granted_parts import add_parts
from skillkit.scripts.node_locks import locked_names


class Decision(str, Enum):
    """What the user says when asked."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    NO = "no"


@dataclass(frozen=True, slots=True)
class ScriptQuestion:
    """A run that waits for the user's word."""

    skill: SkillMetadata
    script: str
    arguments: Sequence[str]
    digest: str
    grants: Grants = field(default_factory=Grants)
    """What a yes gives it."""
    files: tuple[Path, ...] = ()
    """Which of the user's files it would read."""

    @property
    def parts(self) -> list[str]:
        """Everything that the run gets, one line each."""
        grants = self.grants
        named = ", ".join((*grants.hosts, *grants.private_hosts))
        parts = ["the whole network" if grants.network else f"the hosts {named}" if named else "no network"]
        parts += [f"the value of the variable {name}" for name in grants.env]
        parts += [f"the secret {each}, unseen" for each in grants.secrets]
        parts += [f"to read {path}" for path in (*self.files, *grants.read_paths)]
        parts += [f"to write to {path}" for path in grants.write_paths]
        parts += [f"to read {grants.project}, without its keys"] if grants.project is not None else []
        packages = [line.split("==")[0].split()[0] for line in grants.packages.splitlines() if "==" in line]
        parts += [f"the packages {', '.join(packages)}"] if packages else []
        npm = locked_names(grants.node_packages)
        parts += [f"the packages of Node.js {', '.join(npm)}"] if npm else []
        return [*parts, "and nothing else: it runs in the sandbox"]

    @property
    def command(self) -> str:
        return shlex.join([self.script, *self.arguments])


Ask = Callable[[ScriptQuestion], Awaitable[Decision]]


_approved_once: ContextVar[str] = ContextVar("skillkit_approved_once", default="")
"""The digest that the running task may run a script of."""


class Approvals:
    """An authority under which scripts run only after a yes to the digest of the skill's whole tree.

    What else may happen with a skill is decided by `base`.
    """

    def __init__(self, base: Authority, consents: ConsentFile) -> None:
        self.base = base
        self.consents = consents
        self._conversations: set[tuple[str, str]] = set()

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        return self.base.offer_refusal(skill, requester)

    def import_refusal(self, skill: SkillMetadata, digest: str, requester: Requester) -> Refusal | None:
        return self.base.import_refusal(skill, digest, requester)

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        """Return what the header of an approved skill asks for; nothing runs of one that is not."""
        if self.approved(skill, digest, requester):
            return self.offered(skill, digest)
        return Grants(
            run=False,
            reason=f"Scripts of the skill '{skill.name}' need the user's approval. Nothing was run. "
            f"The user can grant it with: agent config approve {skill.name}",
        )

    def offered(self, skill: SkillMetadata, digest: str) -> Grants:
        """Return what scripts of this tree get once they may run."""
        return add_parts(Grants.as_requested(skill), digest, self.consents)

    def approved(self, skill: SkillMetadata, digest: str, requester: Requester | None = None) -> bool:
        """Return whether scripts of this tree may run now."""
        if is_as_shipped(skill):
            return True  # as much a part of the program as its own tools
        conversation = (requester or current_requester()).conversation
        return (
            digest == _approved_once.get()
            or (conversation, digest) in self._conversations
            or digest in self.consents.digests(ConsentKind.RUN)
        )

    def decide(self, question: ScriptQuestion, decision: Decision) -> None:
        """Remember the user's answer; "once" counts in the running task and nowhere else."""
        match decision:
            case Decision.ONCE:
                _approved_once.set(question.digest)
            case Decision.SESSION:
                self._conversations.add((current_requester().conversation, question.digest))
            case Decision.ALWAYS:
                self.consents.grant(Consent(ConsentKind.RUN, question.digest, question.skill.canonical_name))
            case Decision.NO:
                pass

    def forget_once(self) -> None:
        """End what was allowed once: the run is over."""
        _approved_once.set("")
