"""Consent questions: the facts about a change, and how it is answered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from skillkit.core.lazy_names import renamed
from skillkit.core.text import escape_hidden
from skillkit.install.capabilities import MEANINGS, Capabilities
from skillkit.install.changes import FileChange
from skillkit.install.exceptions import ConsentError, Remedy
from skillkit.install.sources.layout import Skipped

Action = Literal["add", "update", "remove", "trust", "sync", "rollback", "reach", "adopt"]
Tone = Literal["", "loud", "louder"]
_LOUD = ("runs by itself", "toolsets", "invisible")
_QUESTIONS: dict[Action, tuple[str, Remedy]] = {
    "add": ("Install {names} and trust it?", Remedy.CONSENT_COMMIT),
    "update": ("Update {names} and trust the new version?", Remedy.CONSENT_COMMIT),
    "remove": ("Remove {names}? It stays in the trash for 7 days.", Remedy.CONSENT),
    "trust": ("Trust {names}, exactly as it is now?", Remedy.CONSENT_DIGEST),
    "sync": ("Install exactly these and trust them?", Remedy.CONSENT_LOCK),
    "rollback": ("Go back to this version of {names}?", Remedy.CONSENT),
    "adopt": ("Take over {names}, exactly as they are now, and trust them?", Remedy.CONSENT_TRUSTED),
    "reach": ("Connect to these sources to read the locked skills?", Remedy.CONSENT_LOCK),
}
"""The text of each question, and its remedy without a terminal."""


@dataclass(frozen=True, slots=True)
class ProposedSkill:
    """One skill after the change, and how it differs from the installed one."""

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
    """Warnings in words: a moved tag, a rewritten branch, local edits."""

    def facts(self, *, card: bool = True, limit: int = 1 << 40) -> Iterator[tuple[str, str, Tone]]:
        """Yield the facts to show, at most `limit` values of a kind."""
        yield "from", self.origin, ""
        if previous := self.previous_commit or self.previous_digest:
            yield "now", previous, ""
        if self.commit:
            yield "commit", self.commit + (f" ({self.ref})" if self.ref else ""), ""
        yield "digest", self.digest, ""
        for note in self.notes:
            yield "note", note, "louder"
        if not card:
            return
        yield "size", f"{self.file_count} file{'' if self.file_count == 1 else 's'}, {self.size:,} bytes", ""
        for label, values in self.capabilities.facts():
            meaning = f" ({MEANINGS[label]})" if MEANINGS.get(label) else ""
            yield label, _listed(values, limit) + meaning, "loud" if label in _LOUD else ""
        for change in self.changes:
            yield "file", str(change), ""
        for label, gained, lost in self.capability_changes:
            if gained:
                yield "gains", f"{label}: {_listed(gained, limit)}", "louder"
            if lost:
                yield "loses", f"{label}: {_listed(lost, limit)}", ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question with one answer for all of its offers."""

    action: Action
    offers: tuple[ProposedSkill, ...]
    pinned: bool = False
    """The user named the exact commits or digests beforehand."""
    left_out: tuple[Skipped, ...] = ()
    """Parts of the source that would be skipped."""

    @property
    def question(self) -> str:
        """The text of the question."""
        names = ", ".join(escape_hidden(offer.name) for offer in self.offers)
        return _QUESTIONS[self.action][0].format(names=names)


def _listed(values: Sequence[str], limit: int) -> str:
    more = f" … and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(values[:limit]) + more


AskConsent = Callable[[Proposal], bool]


def refuse_unattended(proposal: Proposal) -> bool:
    """Raise ConsentError: no terminal and no preset answer."""
    names = _listed([offer.name for offer in proposal.offers], 5)
    raise ConsentError(
        f"Not done: {proposal.action} {names} needs your consent and there is nobody to ask.",
        remedy=_QUESTIONS[proposal.action][1],
    )


@dataclass(frozen=True, slots=True)
class PresetAnswers:
    """Answers questions without a terminal: `yes` accepts pinned sources, `trusted` everything."""

    yes: bool = False
    trusted: bool = False

    def __call__(self, proposal: Proposal) -> bool:
        bytes_change = proposal.action not in ("remove", "rollback")
        if self.trusted or (self.yes and (proposal.pinned or not bytes_change)):
            return True
        return refuse_unattended(proposal)


__getattr__ = renamed(__name__, {"Unattended": "PresetAnswers"})
