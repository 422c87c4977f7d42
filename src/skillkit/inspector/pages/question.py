"""Consent page: the card and words of the terminal, and a form to confirm."""

from skillkit.inspector.actions import Action, PendingChange
from skillkit.inspector.layout import action_address, page, skill_address
from skillkit.install.proposal import ProposedSkill
from skillkit.web.html import Markup, link, tag
from skillkit.web.layout import facts, section


def show(action: Action, name: str, question: PendingChange, token: str) -> str:
    """Return the question; `token` comes back with the answer and proves that this page asked."""
    form = tag(
        "form",
        tag("input", type="hidden", name="form", value=token),
        tag("input", type="hidden", name="digest", value=question.digest),
        tag("button", "Yes", type="submit"),
        " ",
        link(skill_address(name), "No, go back"),
        method="post",
        action=action_address(action, name),
    )
    return page(
        name,
        "/skills",
        [_card(offer) for offer in question.proposal.offers] if question.proposal else None,
        [tag("p", note, class_="note") for note in question.notes],
        section(question.text, form, identity="question"),
    )


def _card(offer: ProposedSkill) -> Markup:
    rows = [(label, tag("span", text, class_=tone or None)) for label, text, tone in offer.facts()]
    difference = tag("pre", "\n".join(offer.diff)) if offer.diff else None
    text = None
    if not offer.diff:
        text = tag("details", tag("summary", "SKILL.md"), tag("pre", offer.instructions))
    return section("What it is", tag("p", offer.description), facts(rows), difference, text)
