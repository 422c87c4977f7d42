"""Changes the inspector can make if started for that: enable, disable and trust skills."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from skillkit.core.events import Writer
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SourceType
from skillkit.inspector.library import Library
from skillkit.install.authority import Level
from skillkit.install.context import InstallContext
from skillkit.install.exceptions import ConsentError
from skillkit.install.inspection import trust, trust_folder
from skillkit.install.proposal import Proposal
from skillkit.install.selection import VARIABLE, change_selection

Action = Literal["enable", "disable", "trust"]
ACTIONS: tuple[Action, ...] = ("enable", "disable", "trust")


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change that needs the user's consent: the same card and words as in a terminal."""

    text: str
    proposal: Proposal | None
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Digest of the tree on the card; the answer is bound to it."""
        return self.proposal.offers[0].digest if self.proposal else ""


class InspectorActions:
    """Does what the commands of the same names do, with the same records."""

    def __init__(self, library: Library, journal: Writer) -> None:
        self._library = library
        self._journal = journal

    def question(self, action: Action, name: str) -> PendingChange:
        """Return what to ask before `action`; raises where there is nothing to decide."""
        skill = self._library.status(name).skill
        # A skill that cannot be approved, such as one with a refused name, can still be disabled.
        proposal = None if action == "disable" else self._proposal(name)
        if action == "trust":
            if proposal is None:
                raise SkillsUseError(f"'{skill.name}' is trusted already.")
            return PendingChange(proposal.question, proposal)
        notes: tuple[str, ...] = ()
        if VARIABLE in os.environ:
            notes = (f"{VARIABLE} is set and overrides this: {os.environ[VARIABLE]}",)
        if action == "disable":
            return PendingChange(f"Make {skill.name} inactive from now on?", None, notes)
        if proposal is not None and self._library.status(name).trust.level < Level.OFFERED:
            notes += ("It is not trusted and stays inactive until it is.",)
        return PendingChange(f"Make {skill.name} active from now on?", proposal, notes)

    def answer_yes(self, action: Action, name: str, digest: str) -> None:
        """Carry out the change; only the tree that was shown is trusted."""
        skill = self._library.status(name).skill
        if action == "trust":
            self._trust(name, lambda proposal: _same(proposal, digest))
        if action == "enable" or (action == "trust" and skill.source is not SourceType.CUSTOM):
            change_selection(self._library.enabled.registry, lambda chosen: chosen.with_names([skill.name]))
        elif action == "disable":
            everything = self._library.manager.list_skills()
            change_selection(
                self._library.enabled.registry, lambda chosen: chosen.without_names([name], everything)
            )
        self._library.look_again()

    def _proposal(self, name: str) -> Proposal | None:
        """Return the question about trust that the command line would ask; None where none is open."""
        seen: list[Proposal] = []

        def look(proposal: Proposal) -> bool:
            seen.append(proposal)
            return False

        if self._library.status(name).trust.trusted:
            return None
        try:
            self._trust(name, look)
        except ConsentError:
            if not seen:
                raise
        return seen[0] if seen else None

    def _trust(self, name: str, consent: Callable[[Proposal], bool]) -> None:
        status = self._library.status(name)
        home = self._library.enabled.registry.home
        context = InstallContext(home, consent=consent, journal=self._journal)
        if status.installed is not None:
            trust(context, status.installed.name)
        else:
            trust_folder(context, status.skill)


def _same(proposal: Proposal, digest: str) -> bool:
    if proposal.offers[0].digest != digest:
        raise ConsentError("The skill changed after it was shown. Look at it again.")
    return True
