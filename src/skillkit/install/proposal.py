"""What the user is asked: facts about what would change, and who may answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from skillkit.install.capabilities import Capabilities
from skillkit.install.changes import FileChange
from skillkit.install.exceptions import ConsentError, Remedy
from skillkit.install.sources.layout import LeftOut

Action = Literal["add", "update", "remove", "trust", "sync", "rollback", "reach"]


@dataclass(frozen=True, slots=True)
class ProposedSkill:
    """One skill as it would be afterwards, and how that differs from what is there now."""

    name: str
    origin: str
    digest: str
    commit: str | None = None
    ref: str | None = None
    description: str = ""
    file_count: int = 0
    size: int = 0
    capabilities: Capabilities = field(default_factory=Capabilities)
    previous_commit: str | None = None
    previous_digest: str | None = None
    changes: tuple[FileChange, ...] = ()
    diff: tuple[str, ...] = ()
    """The whole difference, escaped; `changes.excerpt` makes it fit a screen."""
    instructions: str = ""
    """SKILL.md, to be read before consent."""
    capability_changes: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    """What deserves to be said in words: a moved tag, a rewritten branch, local edits."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question with one answer for all of its offers."""

    action: Action
    offers: tuple[ProposedSkill, ...]
    pinned: bool = False
    """The user named the exact commits or digests beforehand."""
    left_out: tuple[LeftOut, ...] = ()
    """What of the source would not be installed, and why."""


AskConsent = Callable[[Proposal], bool]


def refuse_unattended(proposal: Proposal) -> bool:
    """The answer where there is nobody to ask and nothing was said beforehand."""
    names = ", ".join(offer.name for offer in proposal.offers)
    raise ConsentError(
        f"Not done: {proposal.action} {names} needs your consent and there is nobody to ask.",
        remedy=_REMEDIES[proposal.action],
    )


_REMEDIES: dict[Action, Remedy] = {
    "add": Remedy.CONSENT_COMMIT,
    "update": Remedy.CONSENT_COMMIT,
    "sync": Remedy.CONSENT_LOCK,
    "trust": Remedy.CONSENT_DIGEST,
    "remove": Remedy.CONSENT,
    "rollback": Remedy.CONSENT,
    "reach": Remedy.CONSENT_LOCK,
}


@dataclass(frozen=True, slots=True)
class Unattended:
    """Answers given beforehand: `yes` counts for what was pinned, `trusted` for everything."""

    yes: bool = False
    trusted: bool = False

    def __call__(self, proposal: Proposal) -> bool:
        bytes_change = proposal.action not in ("remove", "rollback")
        if self.trusted or (self.yes and (proposal.pinned or not bytes_change)):
            return True
        return refuse_unattended(proposal)
