"""Who may ask the inspector for a page, and what an answer to its forms is bound to: without a browser."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from program import clean_environment, run_here

from skillkit.inspector.actions import InspectorActions
from skillkit.inspector.app import create_app
from skillkit.inspector.library import Library
from skillkit.inspector.security import COOKIE, LocalUserOnly
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import Selection

PORT = 8123
HERE = f"http://127.0.0.1:{PORT}"
TOKEN = "t0ken"


@pytest.fixture
def library(own_home: Path, write_skill, skills_dir: Path) -> Library:
    write_skill("pdf")
    return Library(
        lambda: EnabledSkills(search=[skills_dir], bundled=False, selection=Selection("all-untrusted")),
        own_home / ".agent" / "journal.sqlite",
    )


@pytest.fixture
def app(library: Library) -> LocalUserOnly:
    return create_app(library, PORT, TOKEN, InspectorActions(library, lambda event: None))


@pytest.fixture
async def browser(app: LocalUserOnly) -> AsyncIterator[httpx.AsyncClient]:
    """The user's own, with the cookie."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=HERE, cookies={COOKIE: TOKEN}) as client:
        yield client


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": HERE}, 200),
        ({"origin": f"http://localhost:{PORT}"}, 200),
        ({"origin": "null"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": f"https://127.0.0.1:{PORT}"}, 403),
        ({"host": f"evil.example:{PORT}"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"cookie": f"{COOKIE}=other"}, 403),
        ({"cookie": ""}, 403),
    ],
)
async def test_only_pages_of_this_run_are_answered(
    browser: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    answer = await browser.get("/trust", headers=headers)
    assert answer.status_code == status
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["//evil.example/x", "/\\evil.example/x", "///evil.example", "/%5Cevil.example"]
)
async def test_the_token_is_exchanged_for_a_cookie_and_leads_nowhere_else(
    app: LocalUserOnly, path: str
) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        answer = await client.get(httpx.URL(f"{HERE}{path}?token={TOKEN}"))
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/evil.example")
        assert "SameSite=Strict" in answer.headers["set-cookie"]
        assert (await client.get(f"{HERE}/?token=other")).status_code == 403


async def test_trust_is_given_to_the_bytes_that_were_shown(
    browser: httpx.AsyncClient, app: LocalUserOnly, library: Library, skills_dir: Path
) -> None:
    shown = library.status("pdf").trust.digest
    other = {"digest": "sha256:" + "0" * 64, "form": app.form_token()}
    assert (await browser.post("/manage/trust/pdf", data=other)).status_code == 409
    forged = {"digest": shown, "form": "forged"}
    assert (await browser.post("/manage/trust/pdf", data=forged)).status_code == 403
    (skills_dir / "pdf" / "more.txt").write_text("Written after the card was shown.")
    late = {"digest": shown, "form": app.form_token()}
    assert (await browser.post("/manage/trust/pdf", data=late)).status_code == 409
    assert not library.status("pdf").trust.trusted


@pytest.mark.parametrize("options", [(), ("--no-open",)])
def test_the_printed_address_is_the_one_that_the_browser_opens(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: [one.close() for one in sockets])
    ran = run_here("inspect", *options, cwd=tmp_path, environment=clean_environment(own_home))
    assert ran.returncode == 0
    assert ran.stdout.startswith("http://127.0.0.1:")
    assert opened == ([] if options else [ran.stdout.strip()])
