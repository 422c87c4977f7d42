"""Layout, links and labels of the inspector's pages."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from skillkit._version import __version__
from skillkit.core.models import SkillMetadata
from skillkit.install.authority import Level, TrustStatus
from skillkit.install.enabled import SkillStatus
from skillkit.web.html import Markup, link, tag
from skillkit.web.layout import badge, command, document, local_time

NAVIGATION = (
    ("/", "Home"),
    ("/request", "Request"),
    ("/skills", "Skills"),
    ("/conversations", "Conversations"),
    ("/runs", "Runs"),
    ("/tests", "Tests"),
    ("/trust", "Trust"),
)
COUNTING = tag("span", "counting …", class_="faint waiting")
NOT_YET = tag("span", "not looked at yet", class_="waiting")
MAX_NAMES = 1_000
STATES = {"disabled": "not enabled", "untrusted": "not trusted", "unavailable": "unavailable"}
"""Labels of the codes of refusals."""


def page(title: str, here: str, *content: object, live: bool = False, unseen: bool = False) -> str:
    """Return a whole document; a `live` one says when what it shows has changed, an `unseen` title is for
    screen readers only."""
    return document(
        title,
        *content,
        brand="skillkit",
        navigation=NAVIGATION,
        here=here,
        scripts=["/static/web.js", "/static/inspector.js"],
        footer=f"skillkit {__version__} · reads this machine only and makes no network requests",
        live=live,
        unseen=unseen,
    )


def skill_address(name: str) -> str:
    """Return the page of a skill."""
    return f"/skill/{quote(name, safe='')}"


def skill_link(name: str) -> Markup | str:
    return link(skill_address(name), name, class_="skill") if name else ""


def skill_names(names: Sequence[str], most: int = 12) -> list[object]:
    """Return names of skills as links, with how many there are beyond the first."""
    shown = [[", " if place else "", skill_link(name)] for place, name in enumerate(names[:most])]
    return [shown, f" and {len(names) - most:,} more" if len(names) > most else None]


def known_names(skills: Sequence[SkillMetadata]) -> Markup:
    """Return the names that a field with the list `names` offers."""
    return tag("datalist", [tag("option", value=skill.name) for skill in skills[:MAX_NAMES]], id="names")


def action_address(action: str, name: str) -> str:
    return f"/manage/{action}/{quote(name, safe='')}"


def conversation_address(identity: str) -> str:
    return f"/conversation/{quote(identity, safe='')}"


def state(status: SkillStatus, *, manage: bool = False) -> Markup:
    """Return whether a skill is active here and, if not, why and the one thing that changes that."""
    refusal = status.refusal
    if refusal is None:
        return badge("active", "good")
    code = "untrusted" if _wants_trust(status) else refusal.code
    word = badge(STATES.get(code, code), "warn")
    # With a command, the word and the trust are the whole reason.
    reason = refusal.reason if not refusal.remedy else status.trust.reason if code == "untrusted" else ""
    small = tag("small", reason, " ") if reason else None
    return tag("span", word, " ", small, remedy(status, manage=manage), title=refusal.reason)


def _wants_trust(status: SkillStatus) -> bool:
    """Return whether trust is the remedy: it also enables a skill."""
    code = status.refusal.code if status.refusal is not None else ""
    return code == "untrusted" or (code == "disabled" and status.trust.level < Level.OFFERED)


def why_trusted(trust: TrustStatus) -> str:
    return "approved by you" if trust.reason == "approved" else trust.reason


def remedy(status: SkillStatus, *, manage: bool = False) -> object:
    """Return the one command that makes a skill active, or the button that does what the command does."""
    refusal = status.refusal
    if refusal is None or not refusal.remedy:
        return None
    if manage and refusal.code in ("untrusted", "disabled"):
        name = "trust" if _wants_trust(status) else "enable"
        return link(action_address(name, status.skill.name), name.capitalize())
    return command(refusal.remedy)


def iso_time(text: str | None) -> object:
    """Return an ISO 8601 time in local time; other text unchanged."""
    try:
        return local_time(datetime.fromisoformat(text or "").timestamp())
    except (ValueError, OverflowError, OSError):
        return text or ""
