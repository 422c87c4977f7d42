"""Asking a person: the card, the difference, and a question that means no unless it is answered yes."""

import re
import sys
from collections.abc import Sequence

from skillkit.agent.cli import output
from skillkit.agent.cli.progress import Progress, ProgressBar, about_download
from skillkit.agent.cli.typed_ahead import discard_typed_ahead
from skillkit.agent.exceptions import ModelFileError
from skillkit.agent.models.provider import ChatProvider
from skillkit.core.text import count_of, escape_hidden
from skillkit.install.changes import excerpt
from skillkit.install.fetch import Choice
from skillkit.install.proposal import PresetAnswers, Proposal, ProposedSkill

_MAX_VALUES = 12
_EVERYTHING = 1 << 40
_RANGE = re.compile(r"(\d{1,6})\s*-\s*(\d{1,6})")
_STYLES = {"loud": "yellow", "louder": "bold yellow"}


class Asker:
    """Asks for consent and choices at a terminal; without one, preset answers count."""

    def __init__(
        self,
        progress: Progress,
        *,
        yes: bool = False,
        trusted: bool = False,
        full: bool = False,
        quiet: bool = False,
    ) -> None:
        self.progress = progress
        self.yes = yes
        self.trusted = trusted
        self.full = full
        self.quiet = quiet
        self.interactive = sys.stdin.isatty() and sys.stderr.isatty()

    def consent(self, proposal: Proposal) -> bool:
        """Show the cards and return the answer; `quiet` omits cards without a question."""
        self.progress.pause()
        asks = self.interactive and not (self.trusted or self.yes)
        if asks or not self.quiet:
            self._show(proposal)
        if not self.interactive or self.trusted:
            return PresetAnswers(self.yes, self.trusted)(proposal)
        return self.yes or self._ask(proposal)

    def _show(self, proposal: Proposal) -> None:
        for offer in proposal.offers:
            show(offer, card=proposal.action not in ("remove", "reach"), full=self.full)
        for left in proposal.left_out:
            output.remark(f"Would be left out: {left}", "yellow")

    def _ask(self, proposal: Proposal) -> bool:
        readable = any(offer.instructions or offer.diff for offer in proposal.offers)
        more = " (r to read everything first)" if readable else ""
        while True:
            answer = self._answer(f"{proposal.question}{more} [y/N] ")
            if answer != "r" or not readable:
                return answer in ("y", "yes")
            with output.console(stderr=True).pager():
                for offer in proposal.offers:
                    show(offer, full=True)

    def choose(self, choices: Sequence[Choice]) -> list[str]:
        """Show a numbered list; return the choices typed as numbers, ranges or names."""
        self.progress.pause()
        for number, choice in enumerate(choices, 1):
            line = output.shown(f"{number:3}  {choice.name}  ", "bold")
            line.append(output.summary(choice.description, 120))
            output.console(stderr=True).print(line)
        while True:
            answer = self._answer("Which ones? Numbers, 1-3, names with commas, 'all', or nothing: ")
            picked, unknown = picked_choices(choices, answer)
            if not unknown:
                return picked
            output.remark(f"Not in the list: {', '.join(map(escape_hidden, unknown))}", "yellow")

    def confirm(self, question: str) -> bool:
        """Ask for a yes; without a terminal, only an answer given in advance counts."""
        self.progress.pause()
        if self.yes or not self.interactive:
            return self.yes
        return self._answer(f"{question} [y/N] ") in ("y", "yes")

    def _answer(self, question: str) -> str:
        discard_typed_ahead()
        sys.stderr.write(f"{output.flowing(question.rstrip())} ")
        sys.stderr.flush()
        try:
            answer = sys.stdin.readline()
        except KeyboardInterrupt:
            sys.stderr.write("\n")
            raise
        if not answer.endswith("\n"):
            sys.stderr.write("\n")
        return answer.strip().lower()


def picked_choices(choices: Sequence[Choice], answer: str) -> tuple[list[str], list[str]]:
    """Return the paths that the answer means, in the order of the list, and the words that mean none."""
    if answer == "all":
        return [choice.path for choice in choices], []
    picked: set[int] = set()
    unknown = []
    by_name = {choice.name.lower(): number for number, choice in enumerate(choices, 1)}
    for word in filter(None, (part.strip() for part in answer.split(","))):
        span = _RANGE.fullmatch(word)
        numbers = range(int(span[1]), int(span[2]) + 1) if span else [int(word)] if word.isdecimal() else []
        if word in by_name:
            picked.add(by_name[word])
        elif numbers and numbers[0] >= 1 and numbers[-1] <= len(choices):
            picked.update(numbers)
        else:
            unknown.append(word)
    return [choice.path for number, choice in enumerate(choices, 1) if number in picked], unknown


def show(offer: ProposedSkill, *, card: bool = True, full: bool = False) -> None:
    """Show a skill's origin, capabilities and changes.

    `full` leaves nothing out: every value, the whole difference, and a new skill's instructions.
    """
    screen = output.console(stderr=True)
    title = output.shown(offer.name, "bold")
    if offer.description:
        title.append(f"  {output.summary(offer.description, 300)}", style="not bold")
    screen.print(title)
    facts = list(offer.facts(card=card, limit=_EVERYTHING if full else _MAX_VALUES))
    output.facts_on_stderr([(label, text, _STYLES.get(tone, "")) for label, text, tone in facts])
    if card and not full and facts != list(offer.facts()):
        screen.print(output.shown("  --full shows every value", "yellow"))
    if not card:
        return
    _show_difference(offer, full=full)
    if full and not offer.diff:
        screen.print(output.shown("  SKILL.md", "cyan"))
        for line in offer.instructions.splitlines():
            screen.print(output.shown(f"  {line}"), soft_wrap=True)


def _show_difference(offer: ProposedSkill, *, full: bool) -> None:
    screen = output.console(stderr=True)
    limits = {"max_lines": _EVERYTHING, "max_columns": _EVERYTHING} if full else {}
    part = excerpt(offer.diff, **limits)
    for line in part.lines:
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        screen.print(output.shown(f"  {line}", colour), soft_wrap=True)
    hidden = [count_of(part.hidden_lines, "changed line")] if part.hidden_lines else []
    hidden += [count_of(part.hidden_characters, "changed character")] if part.hidden_characters else []
    if hidden:
        text = f"  !!! {' and '.join(hidden)} NOT shown above; --full shows everything"
        screen.print(output.shown(text, "bold red"), soft_wrap=True)


def fetch_first(provider: ChatProvider) -> None:
    """Fetch what `provider` needs before its first request; ask first at a terminal."""
    needed = provider.download()
    if needed is None:
        return
    with Progress() as progress, ProgressBar() as bar:
        asker = Asker(progress)
        bar.say(about_download(needed))
        if asker.interactive and not asker.confirm("Fetch it now?"):
            raise ModelFileError("Nothing was fetched, so no model can answer.")
        provider.reporting(bar.advance, bar.say).fetch()
