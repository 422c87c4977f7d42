"""Asking a person: the card, the difference, and a question that means no unless it is answered yes."""

import sys
from collections.abc import Iterator, Sequence

from skillkit.agent.cli import output
from skillkit.agent.cli.progress import Progress
from skillkit.core.text import escape_hidden
from skillkit.install.capabilities import MEANINGS
from skillkit.install.fetch import Choice
from skillkit.install.proposal import Proposal, ProposedSkill, Unattended

_MAX_VALUES = 12
_QUESTIONS = {
    "add": "Install {names} and trust it?",
    "update": "Update {names} and trust the new version?",
    "remove": "Remove {names}? It stays in the trash for 7 days.",
    "trust": "Trust {names}, exactly as it is now?",
    "sync": "Install exactly these and trust them?",
    "rollback": "Go back to this version of {names}?",
}


class Asker:
    """Consent and choice at a terminal; without one, only what was said beforehand counts."""

    def __init__(self, progress: Progress, *, yes: bool = False, trusted: bool = False) -> None:
        self.progress = progress
        self.yes = yes
        self.trusted = trusted
        self.interactive = sys.stdin.isatty() and sys.stderr.isatty()

    def consent(self, proposal: Proposal) -> bool:
        self.progress.pause()
        for offer in proposal.offers:
            show(offer, card=proposal.action not in ("remove",))
        for left in proposal.left_out:
            output.remark(f"Would be left out: {left}", "yellow")
        if not self.interactive or self.trusted:
            return Unattended(self.yes, self.trusted)(proposal)
        names = ", ".join(escape_hidden(offer.name) for offer in proposal.offers)
        return self.yes or self._answer(f"{_QUESTIONS[proposal.action].format(names=names)} [y/N] ") in (
            "y",
            "yes",
        )

    def choose(self, choices: Sequence[Choice]) -> list[str]:
        """A numbered list and the numbers that were typed."""
        self.progress.pause()
        for number, choice in enumerate(choices, 1):
            line = output.shown(f"{number:3}  {choice.name}  ", "bold")
            line.append(output.summary(choice.description, 120))
            output.console(stderr=True).print(line)
        answer = self._answer("Which ones? Numbers or names with commas, 'all', or nothing: ")
        if answer == "all":
            return [choice.path for choice in choices]
        wanted = {word.strip() for word in answer.split(",") if word.strip()}
        return [
            choice.path
            for number, choice in enumerate(choices, 1)
            if str(number) in wanted or choice.name.lower() in wanted
        ]

    def confirm(self, question: str) -> bool:
        """Whether a person says yes; where nobody can be asked, only what was said beforehand counts."""
        self.progress.pause()
        if self.yes or not self.interactive:
            return self.yes
        return self._answer(f"{question} [y/N] ") in ("y", "yes")

    def _answer(self, question: str) -> str:
        sys.stderr.write(question)
        sys.stderr.flush()
        answer = sys.stdin.readline()
        if not answer.endswith("\n"):
            sys.stderr.write("\n")
        return answer.strip().lower()


def show(offer: ProposedSkill, *, card: bool = True) -> None:
    """A skill as facts: where it is from, what it brings, and what would change."""
    screen = output.console(stderr=True)
    title = output.shown(offer.name, "bold")
    if offer.description:
        title.append(f"  {output.summary(offer.description, 300)}", style="not bold")
    screen.print(title)
    output.facts_on_stderr(list(_facts(offer, card=card)))
    for line in offer.diff if card else ():
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        screen.print(output.shown(f"  {line}", colour))


def _facts(offer: ProposedSkill, *, card: bool) -> Iterator[tuple[str, str, str]]:
    yield "from", offer.origin, ""
    if offer.previous_commit or offer.previous_digest:
        yield "now", offer.previous_commit or offer.previous_digest or "", ""
    if offer.commit:
        yield "commit", offer.commit + (f" ({offer.ref})" if offer.ref else ""), ""
    yield "digest", offer.digest, ""
    for note in offer.notes:
        yield "note", note, "bold yellow"
    if not card:
        return
    yield "size", f"{offer.file_count} files, {offer.size:,} bytes", ""
    for label, values in offer.capabilities.facts():
        meaning = f" ({MEANINGS[label]})" if label in MEANINGS else ""
        yield label, _listed(values) + meaning, "yellow" if label in ("toolsets", "invisible") else ""
    for change in offer.changes:
        yield "file", str(change), ""
    for label, gained, lost in offer.capability_changes:
        if gained:
            yield "gains", f"{label}: {_listed(gained)}", "bold yellow"
        if lost:
            yield "loses", f"{label}: {_listed(lost)}", ""


def _listed(values: Sequence[str]) -> str:
    more = f" … and {len(values) - _MAX_VALUES} more" if len(values) > _MAX_VALUES else ""
    return ", ".join(values[:_MAX_VALUES]) + more
