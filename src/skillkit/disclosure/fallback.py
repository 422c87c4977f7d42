"""What a request is told when no skill matched it by itself."""

from collections.abc import Sequence

from skillkit.disclosure.catalogue import Catalogue, skill_id
from skillkit.disclosure.fence import escaped_line
from skillkit.disclosure.matches import Match

REVIEW = "No skill matched this request by itself. Review the whole list before you answer without one."


def show_all(shown: Catalogue, in_full: Catalogue) -> str:
    """A request to review the list; with the longer list, when the catalogue had to cut."""
    return REVIEW if shown.complete else f"{REVIEW}\n\n{in_full.text}"


def ask_user(candidates: Sequence[Match]) -> str:
    """A request to ask which of the nearest skills is meant; nothing when none is near."""
    if not candidates:
        return ""
    names = ", ".join(escaped_line(skill_id(match.skill)) for match in candidates)
    return (
        f"No skill matched this request by itself; the nearest are: {names}. If one of them could help, "
        "ask the user whether to use it before you load it."
    )
