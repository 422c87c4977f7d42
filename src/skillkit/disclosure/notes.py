"""Notes about skills in a request; names are enclosed in tags that they cannot close."""

from collections.abc import Callable, Collection, Sequence

from skillkit.core.models import SkillMetadata
from skillkit.disclosure.catalogue import SHORT_CLAUSE, Catalogue, skill_id, skill_line
from skillkit.disclosure.fence import escaped_line
from skillkit.matching import Match

REVIEW = "No skill matched this request by itself. Review the whole list before you answer without one."
_NAMED = 5
_IN_FULL = 5
"""Nearest skills that keep their full line."""


def wrapped(*parts: str) -> str:
    """Wrap the notes on one request in our markup; empty without notes."""
    text = "\n\n".join(part for part in parts if part)
    return f"<skill_note>\n{text}\n</skill_note>" if text else ""


def changed(listed: Collection[str], offered: Sequence[SkillMetadata]) -> str:
    """Describe how the offer differs from the catalogue that the conversation was shown; empty if
    unchanged."""
    now = {skill_id(skill): skill for skill in offered}
    new = [skill_line(skill) for identity, skill in now.items() if identity not in listed]
    gone = [identity for identity in listed if identity not in now]
    parts = []
    if new:
        more = f"\nand {len(new) - _NAMED} more; search_skills finds them" if len(new) > _NAMED else ""
        parts.append("Skills that are new:\n" + "\n".join(new[:_NAMED]) + more)
    if gone:
        parts.append(f"Skills that are gone: {_named(gone)}.")
    return "\n".join(parts)


def left_out(limit: int, matches: Sequence[Match]) -> str:
    """Report matches beyond the limit."""
    names = _named([skill_id(match.skill) for match in matches])
    return f"Also matching, left out by the limit of {limit} a request: {names}. load_skill loads them."


def put_aside(ids: Sequence[str]) -> str:
    """Report active skills that were deactivated because the conversation exceeds its limit."""
    return f"Put aside to make space: {_named(ids)}. load_skill brings a skill back."


def unusable(identity: str, code: str) -> str:
    """Report a matched skill that could not be delivered."""
    said = f"Skill {_named([identity])} cannot be used: {code}."
    if code == "too_large":
        said += " Read it page by page: read_skill_resource with path SKILL.md."
    return said


def withdrawn(identity: str, code: str) -> str:
    """Report an active skill that may no longer be used."""
    return f"Skill {_named([identity])} is no longer available ({code}); do not follow it any more."


def runs_alone(identity: str) -> str:
    """Report a matched skill that runs in a separate conversation."""
    return (
        f"Skill {_named([identity])} fits and runs as a conversation of its own, which sees nothing of this "
        "one: load_skill starts it, with all that it has to know in `arguments`, and returns its result."
    )


def ordered(identity: str, arguments: str) -> str:
    """Report a skill that the user named and that runs in a separate conversation."""
    given = f"<arguments>{escaped_line(arguments)}</arguments>" if arguments else "no arguments"
    return f"The user orders the skill {_named([identity])}: call load_skill with this id and {given}."


def nearby(matches: Sequence[Match], count: Callable[[str], int], budget: int) -> str:
    """List the skills nearest to a request, one per line, within `budget` tokens. If not all fit, lines after
    the first few are shortened: one more listed skill is worth more than half a clause."""
    head = "Perhaps useful for this request; load_skill loads them:"
    left = budget - count(head)
    lines = [skill_line(match.skill) for match in matches]
    prices = [count(f"\n{line}") for line in lines]
    if sum(prices) > left:
        for place in range(_IN_FULL, len(lines)):
            lines[place] = skill_line(matches[place].skill, SHORT_CLAUSE)
            prices[place] = count(f"\n{lines[place]}")
    shown = []
    for line, price in zip(lines, prices, strict=True):
        left -= price
        if left < 0:
            break
        shown.append(line)
    return "\n".join([head, *shown]) if shown else ""


def show_all(shown: Catalogue, in_full: Catalogue) -> str:
    """Ask the model to review the catalogue; include the longer catalogue if the first was truncated."""
    return REVIEW if shown.complete else f"{REVIEW}\n\n{in_full.text}"


def ask_user(candidates: Sequence[Match]) -> str:
    """Ask the model to ask the user which of the nearest skills is meant, if any."""
    if not candidates:
        return (
            "No skill matched this request, and none is near. If a skill of the list could help, ask the "
            "user whether to use it before you load it."
        )
    names = _named([skill_id(match.skill) for match in candidates])
    return (
        f"No skill matched this request by itself; the nearest: {names}. If one of them could help, ask the "
        "user whether to use it before you load it."
    )


def _named(ids: Sequence[str]) -> str:
    names = ", ".join(f"<id>{escaped_line(identity)}</id>" for identity in ids[:_NAMED])
    return f"{names} and {len(ids) - _NAMED} more" if len(ids) > _NAMED else names
