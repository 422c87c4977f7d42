"""The web application: addresses to pages, errors to pages, and a stream that says when something changed."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from skillkit.core.exceptions import SkillNotFoundError, SkillsUseError
from skillkit.inspector.actions import ACTIONS, Action, InspectorActions
from skillkit.inspector.layout import page, skill_address
from skillkit.inspector.library import Library
from skillkit.inspector.pages import conversations, home, question, request, runs, skill, skills, tests, trust
from skillkit.inspector.security import LocalUserOnly
from skillkit.web.layout import FILES, nothing

logger = logging.getLogger(__name__)

_STATIC = {
    **FILES,
    "inspector.js": (Path(__file__).parent / "static" / "inspector.js", "text/javascript"),
}
MAX_FORM = 4096
LOOK_EVERY = 1.0
"""Seconds between two looks at the disk and the journal while somebody watches."""
LOOK_SOON = 0.25
"""Seconds between two looks while skills are still being judged or counted."""


def create_app(
    library: Library,
    port: int,
    token: str | None = None,
    actions: InspectorActions | None = None,
    ending: Callable[[], bool] = lambda: False,
) -> LocalUserOnly:
    """Return the application for one run; it changes nothing unless it is given how.

    `token` is made when none is given. `ending` says that the server waits for open pages to let go.
    """
    live = Live(library, ending)
    made = partial(_page, library)
    routes = [
        made("/", lambda ask: home.show(library)),
        made("/skills", lambda ask: skills.show(library, ask.query_params)),
        made("/request", lambda ask: request.show(library, ask.query_params)),
        made("/conversations", lambda ask: conversations.show(library, ask.query_params)),
        made(
            "/conversation/{name:path}",
            lambda ask: conversations.show_one(library, _name(ask), ask.query_params),
        ),
        made("/runs", lambda ask: runs.show(library, ask.query_params)),
        made("/run/{number:int}", lambda ask: runs.show_one(library, ask.path_params["number"])),
        made("/trust", lambda ask: trust.show(library)),
        made("/tests", lambda ask: tests.show(library)),
        made("/test/{number:int}", lambda ask: tests.show_one(library, ask.path_params["number"])),
        made(
            "/test/{number:int}/report",
            lambda ask: tests.whole_report(library, ask.path_params["number"]),
            policy="default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'",
        ),
        made("/skill/{name}/file", lambda ask: skill.show_file(library, _name(ask), *_file(ask))),
        made("/skill/{name}", lambda ask: skill.show(library, _name(ask))),
        Route("/static/{name}", _static),
        Route("/favicon.ico", lambda ask: Response(status_code=204)),
        Route("/live", live.stream),
    ]
    application = Starlette(routes=routes, exception_handlers={404: _not_found})
    guarded = LocalUserOnly(application, port, token)
    if actions is not None:
        application.router.routes.extend(_manage_routes(library, actions, guarded))
    return guarded


def _manage_routes(library: Library, actions: InspectorActions, guard: LocalUserOnly) -> list[Route]:
    address = "/manage/{action}/{name}"

    def ask(request: Request) -> str:
        action = _action(request)
        return question.show(
            action, _name(request), actions.question(action, _name(request)), guard.form_token()
        )

    async def answer(request: Request) -> Response:
        sent = parse_qs((await _body(request)).decode("utf-8", "replace"))
        if not guard.allows_form(sent.get("form", [""])[0]):
            return HTMLResponse(
                page("Not done", "", nothing("The form was not sent by this inspector.")), 403
            )
        name, digest = _name(request), sent.get("digest", [""])[0]
        try:
            await asyncio.to_thread(actions.answer_yes, _action(request), name, digest)
        except SkillNotFoundError as error:
            return HTMLResponse(page("Not found", "", nothing(str(error))), 404)
        except SkillsUseError as error:
            return HTMLResponse(page("Not done", "", nothing(str(error))), 409)
        return RedirectResponse(skill_address(name), 303)

    return [_page(library, address, ask), Route(address, answer, methods=["POST"])]


def _action(request: Request) -> Action:
    for action in ACTIONS:
        if request.path_params["action"] == action:
            return action
    raise SkillNotFoundError(f"Unknown action: '{request.path_params['action']}'.")


async def _body(request: Request) -> bytes:
    received = b""
    async for piece in request.stream():
        received += piece
        if len(received) > MAX_FORM:
            return b""
    return received


def _page(library: Library, address: str, make: Callable[[Request], str], policy: str | None = None) -> Route:
    """Return a page by its address; `policy` is for one that brings its own style along."""
    headers = {"content-security-policy": policy} if policy else None

    def make_first(ask: Request) -> str:
        with library.gate.page():
            return make(ask)

    async def answer(ask: Request) -> Response:
        try:
            return HTMLResponse(await asyncio.to_thread(make_first, ask), headers=headers)
        except SkillNotFoundError as error:
            return HTMLResponse(page("Not found", "", nothing(str(error))), 404)
        except SkillsUseError as error:
            return HTMLResponse(page("This cannot be shown", "", nothing(str(error))), 500)
        except Exception as error:
            logger.exception("The page %s could not be made", ask.url.path)
            text = f"{type(error).__name__}: {error}. Details are in the terminal that runs the inspector."
            return HTMLResponse(page("This cannot be shown", "", nothing(text)), 500)

    return Route(address, answer, methods=["GET"])


def _name(ask: Request) -> str:
    return str(ask.path_params["name"])


def _file(ask: Request) -> tuple[str, int]:
    offset = ask.query_params.get("offset", "0")
    return ask.query_params.get("path", ""), int(offset) if offset.isdecimal() and len(offset) < 16 else 0


async def _static(ask: Request) -> Response:
    name = _name(ask)
    if name not in _STATIC:
        return PlainTextResponse("Not found", 404)
    path, kind = _STATIC[name]
    return Response(path.read_bytes(), media_type=kind)


async def _not_found(ask: Request, error: Exception) -> Response:
    return HTMLResponse(page("Not found", "", nothing("There is no such page.")), 404)


class Live:
    """Tells every open page when a skill changed on disk or the journal grew."""

    def __init__(self, library: Library, ending: Callable[[], bool]) -> None:
        self._library = library
        self._ending = ending

    async def stream(self, ask: Request) -> Response:
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(self._changes(ask), media_type="text/event-stream", headers=headers)

    async def _changes(self, ask: Request) -> AsyncIterator[str]:
        seen, come = await asyncio.to_thread(self._state), self._library.progress
        yield ": watching\n\n"
        while not self._ending() and not await ask.is_disconnected():
            await asyncio.sleep(LOOK_EVERY if come == self._library.progress else LOOK_SOON)
            now, came = await asyncio.to_thread(self._state), self._library.progress
            if now != seen:
                what = "Skills changed on disk" if now[0] != seen[0] else "Something happened"
                yield f"event: changed\ndata: {what}\n\n"
            elif come != came:
                yield "event: progress\ndata: more is known\n\n"
            seen, come = now, came

    def _state(self) -> tuple[int, int]:
        self._library.refresh()
        newest = self._library.journal.events(limit=1)
        return self._library.version, newest[0].id if newest else 0
