"""Pages that need a token: sign in, review queue, tokens, events, device login."""

from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from skillkit.core.text import count_of
from skillkit.registry.access import PUBLISH, READ, REVIEW, SCOPES, Caller, Purpose, State
from skillkit.registry.exceptions import ForbiddenError, MissingError, RejectedError, UnauthorizedError
from skillkit.registry.frame import COOKIE, button, form, moment, page, sent, skill_address
from skillkit.registry.pages import compare, describe
from skillkit.registry.server import Ask, Endpoint
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import command, field, nothing, section

_MAX_FORM = 16 * 1024
_CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    REVIEW: {
        "held": ("approve", "refuse"),
        "published": ("block",),
        "yanked": ("block",),
        "blocked": ("unblock",),
    },
    PUBLISH: {"published": ("yank",), "yanked": ("unyank",)},
}
"""The actions that a scope allows on a version, by its state."""


def _signed_in(ask: Ask) -> Caller:
    if ask.caller.token is None:
        raise UnauthorizedError("Sign in first.")
    return ask.caller


def _login(ask: Ask) -> Response:
    if ask.caller.token is not None:
        return page(ask, "Signed in", "/login", form(ask, "/logout", button("Sign out")))
    token = field("Token", "token", type="password", required=True)
    return page(ask, "Sign in", "/login", form(ask, "/login", token, button("Sign in")))


def _enter(ask: Ask) -> Response:
    token = sent(ask, "token")
    if ask.server.accounts.caller(token) is None:
        raise UnauthorizedError("The token is unknown, expired or revoked")
    return _with_cookie(ask, token, "/")


def _leave(ask: Ask) -> Response:
    return _with_cookie(ask, "", "/login")


def _with_cookie(ask: Ask, value: str, place: str) -> Response:
    response = RedirectResponse(place, 303)
    secure = urlsplit(ask.server.settings.base_url).scheme == "https"
    if value:
        response.set_cookie(COOKIE, value, httponly=True, samesite="strict", secure=secure)
    else:
        response.delete_cookie(COOKIE)
    return response


def _queue(ask: Ask) -> Response:
    held = ask.registry.held(_signed_in(ask))
    rows = [
        (
            link(skill_address(skill, version.number, "review"), f"{skill.title} {version.number}"),
            version.reason,
            version.publisher,
            moment(version.created),
        )
        for skill, version in held
    ]
    content = table(("Version", "Held because", "By", "Since"), rows, "Held versions") if rows else None
    return page(ask, "Review", "/review", content or nothing("Nothing is waiting for review."))


def _review(ask: Ask) -> Response:
    caller = _signed_in(ask)
    skill = ask.registry.skill(caller, ask.path["skill"], ask.path["owner"], Purpose.FETCH)
    version = ask.registry.version(caller, skill, ask.path["number"], Purpose.SEE)
    allowed = [
        action
        for scope, states in _CHOICES.items()
        if caller.has(scope, skill.owner)
        for action in states.get(version.state.value, ())
    ]
    buttons = [button(action.capitalize(), action) for action in allowed]
    reason = field("Reason", "reason", maxlength=1000)
    place = skill_address(skill, version.number, "review")
    actions = form(ask, place, reason, buttons) if buttons else None
    published = [
        each for each in ask.registry.versions(caller, skill, Purpose.LIST) if each.order < version.order
    ]
    before = published[0] if published else None
    since = f"Since {before.number}" if before else "New"
    heading = section(since, *compare(ask, before, version)) if version.state is State.HELD else None
    title = f"Review {skill.title} {version.number}"
    return page(ask, title, "/review", actions, heading, *describe(ask, skill, version))


def _judge(ask: Ask) -> Response:
    caller = _signed_in(ask)
    skill = ask.registry.skill(caller, ask.path["skill"], ask.path["owner"], Purpose.FETCH)
    action = sent(ask, "action")
    self_review = ask.server.settings.self_review
    ask.registry.change(
        caller, skill, ask.path["number"], action, sent(ask, "reason"), self_review=self_review
    )
    return RedirectResponse("/review", 303)


def _tokens(ask: Ask) -> Response:
    caller = _signed_in(ask)
    rows = []
    for row in ask.server.accounts.tokens(caller):
        revoked, expires = moment(row["revoked"]), moment(row["expires"])
        state = ["revoked ", revoked] if revoked else expires or "no expiry"
        revoke = form(
            ask,
            "/tokens/revoke",
            tag("input", type="hidden", name="token", value=row["id"]),
            button("Revoke"),
        )
        owner = row["owner"] or "every owner"
        rows.append((row["id"], row["user"], row["scopes"], owner, state, "" if row["revoked"] else revoke))
    listed = table(("Id", "User", "Scopes", "Owner", "Expires", "Change"), rows, "Tokens")
    return page(ask, "Tokens", "/tokens", listed, _new_token(ask))


def _new_token(ask: Ask) -> Markup:
    scopes = field("Scopes", "scopes", value="read", required=True)
    owner, days = (
        field("Owner", "owner"),
        field("Days", "days", type="number", min=1, value="90", required=True),
    )
    return section("New token", form(ask, "/tokens", scopes, owner, days, button("Make a token")))


def _add_token(ask: Ask) -> Response:
    """Create a token of the user, with no more than their own grants."""
    caller = _signed_in(ask)
    scopes, owner, days = sent(ask, "scopes").split(), sent(ask, "owner"), sent(ask, "days")
    if not days.isdecimal() or len(days) > 4 or not 0 < int(days) <= 3650:
        raise RejectedError("Days must be a number from 1 to 3650")
    found = ask.registry.owner(owner) if owner else None
    number = found["id"] if found else None
    if (owner and found is None) or any(
        scope not in SCOPES or not caller.has(READ if scope not in (PUBLISH, REVIEW) else scope, number)
        for scope in scopes
    ):
        raise ForbiddenError("A new token cannot have more scopes or owners than your own")
    secret = ask.server.accounts.add_token(caller, caller.user, scopes, owner, days=int(days))
    shown = tag("p", command(secret))
    note = tag("p", "This token is shown once. Keep it like a password.", class_="notice")
    return page(ask, "New token", "/tokens", note, shown)


def _revoke(ask: Ask) -> Response:
    caller, number = _signed_in(ask), sent(ask, "token")
    if not number.isdecimal() or len(number) > 18:
        raise MissingError
    ask.server.accounts.revoke(caller, int(number))
    return RedirectResponse("/tokens", 303)


def _events(ask: Ask) -> Response:
    found = ask.registry.events(_signed_in(ask))
    rows = [
        (moment(row["time"]), row["actor"], row["action"], row["subject"], row["detail"]) for row in found
    ]
    listed = (
        table(("At", "Who", "What", "About", "Detail"), rows, "Events") if rows else nothing("No events.")
    )
    return page(ask, "Events", "/events", tag("p", count_of(len(rows), "event"), class_="faint"), listed)


def _device(ask: Ask) -> Response:
    if ask.caller.token is None:
        note = tag("p", "Sign in, then open this page again and type the code that the program shows.")
        return page(ask, "Device login", "", note, link("/login", "Sign in"))
    code = field("Code", "code", required=True, placeholder="ABCD-EFGH")
    buttons = (button("Let it sign in as me", "approve"), button("Refuse", "deny"))
    return page(ask, "Device login", "", form(ask, "/device", code, *buttons))


def _answer_device(ask: Ask) -> Response:
    caller = _signed_in(ask)
    approve = sent(ask, "action") == "approve"
    ask.server.accounts.answer_device(caller, sent(ask, "code"), approve=approve)
    text = "The program is signed in." if approve else "The program was refused."
    return page(ask, "Device login", "", tag("p", f"{text} You can close this page."))


def _changing(path: str, handler: object, limit: str = "reads") -> Endpoint:
    return Endpoint(path, handler, "POST", _MAX_FORM, limit, is_page=True)  # type: ignore[arg-type]


_REVIEW = "/{owner}/{skill}/{number}/review"
ENDPOINTS = (
    Endpoint("/login", _login, is_page=True),
    _changing("/login", _enter, "uploads"),
    _changing("/logout", _leave),
    Endpoint("/review", _queue, is_page=True),
    Endpoint("/tokens", _tokens, is_page=True),
    _changing("/tokens", _add_token),
    _changing("/tokens/revoke", _revoke),
    Endpoint("/events", _events, is_page=True),
    Endpoint("/device", _device, is_page=True),
    _changing("/device", _answer_device, "uploads"),
    Endpoint(_REVIEW, _review, is_page=True),
    _changing(_REVIEW, _judge),
)
