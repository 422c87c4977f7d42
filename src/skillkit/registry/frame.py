"""The layout of the registry's pages, and the parts that they share."""

from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import parse_qs, quote

from starlette.responses import HTMLResponse, Response

from skillkit._version import __version__
from skillkit.install.capabilities import MEANINGS, Capabilities
from skillkit.registry.access import State
from skillkit.registry.exceptions import RegistryServerError, TooManyError
from skillkit.registry.server import Ask
from skillkit.registry.store import SkillRow
from skillkit.web.html import Markup, table, tag
from skillkit.web.layout import badge, document, nothing

COOKIE = "skillkit_registry"
_KINDS = {
    State.PUBLISHED: "good",
    State.HELD: "warn",
    State.YANKED: "warn",
    State.REFUSED: "bad",
    State.BLOCKED: "bad",
}


def page(ask: Ask, title: str, here: str, *content: object, status: int = 200) -> Response:
    """Return a page with navigation for the user."""
    navigation = [("/", "Skills")]
    if ask.caller.token is not None:
        navigation += [("/review", "Review"), ("/tokens", "Tokens"), ("/events", "Events")]
    navigation.append(("/login", f"Signed in: {ask.caller.user}" if ask.caller.user else "Sign in"))
    text = document(
        title,
        *content,
        brand="skill registry",
        navigation=navigation,
        here=here,
        scripts=["/static/web.js"],
        footer=f"skillkit {__version__}",
    )
    return HTMLResponse(text, status)


def error_page(ask: Ask, error: RegistryServerError) -> Response:
    title = "Not found" if error.status == 404 else "Request failed"
    response = page(ask, title, "", nothing(str(error)), status=error.status)
    if isinstance(error, TooManyError):
        response.headers["retry-after"] = str(error.seconds)
    return response


def form(ask: Ask, action: str, *content: object) -> Markup:
    """Return a form that changes something, with its CSRF token."""
    token = tag("input", type="hidden", name="form", value=ask.server.accounts.form_token(ask.caller))
    return tag("form", token, *content, method="post", action=action)


def button(text: str, value: str = "") -> Markup:
    return tag("button", text, type="submit", name="action" if value else None, value=value or None)


def sent(ask: Ask, name: str) -> str:
    """Return a field of the submitted form; `app` has checked that it decodes."""
    return parse_qs(ask.body.decode("utf-8", "replace")).get(name, [""])[0].strip()


def skill_address(skill: SkillRow, *more: str) -> str:
    return "/" + "/".join(quote(part, safe="@+") for part in (skill.owner_name, skill.name, *more))


def moment(seconds: float | None) -> str:
    """Return a time as people read it, in UTC."""
    if seconds is None:
        return ""
    time = datetime.fromtimestamp(seconds, UTC)
    return tag("time", f"{time:%Y-%m-%d %H:%M} UTC", datetime=time.isoformat(timespec="milliseconds"))


def state_badge(state: State) -> Markup:
    return badge(state.value, _KINDS[state])


def card_table(card: Capabilities) -> Markup:
    """Return the facts of a capability card."""
    rows = [
        (label, [tag("div", value, class_="mono") for value in values], MEANINGS[label])
        for label, values in card.facts()
    ]
    if not rows:
        return nothing("It is text only: no scripts, no hosts, no variables.")
    return table(("Fact", "Values", "Meaning"), rows, "What it may do")


def difference_table(changes: Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]]) -> Markup:
    """Return the difference of two capability cards."""
    rows = [
        (
            label,
            [tag("div", f"+ {value}", class_="added mono") for value in gained],
            [tag("div", f"- {value}", class_="removed mono") for value in lost],
        )
        for label, gained, lost in changes
    ]
    return (
        table(("Fact", "Gained", "Lost"), rows, "Change in what it may do") if rows else nothing("No change.")
    )
