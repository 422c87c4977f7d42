"""Skills and journals whose every text is an attack, in a real browser: nothing runs, nothing leaves."""

import http.client
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from browsing import CHROMIUM, FLAGS
from inspecting import Inspecting, inspecting
from playwright.sync_api import expect, sync_playwright

from skillkit.journal import Event, Kind, SqliteJournal

SCRIPT = "<script>document.title='pwned';fetch('http://127.0.0.1:1/x')</script>"
IMAGE = "<img src=x onerror=\"document.title='pwned'\">"
BODY = f"""# {SCRIPT}
{IMAGE}
<svg onload="document.title='pwned'"></svg>
[a link](javascript:document.title='pwned') ![remote](http://127.0.0.1:1/pixel.png) <http://127.0.0.1:1/auto>
[quote](http://x/"onmouseover="document.title='pwned'")
```html
{SCRIPT}
```
| a | b |
|---|---|
| {IMAGE} | {SCRIPT} |
</div></main></body></html> \u202e\u200b
"""
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def hostile(own_home: Path, skills_dir: Path) -> Iterator[Inspecting]:
    folder = skills_dir / "evil"
    folder.mkdir()
    description = json.dumps(f"{SCRIPT} {IMAGE} ' onfocus=alert(1) autofocus")
    (folder / "SKILL.md").write_text(
        f"---\nname: evil\ndescription: {description}\nauthor: {json.dumps(IMAGE)}\n"
        f"version: {json.dumps(SCRIPT)}\n---\n{BODY}"
    )
    (folder / "<img src=x onerror=document.title='pwned'>.md").write_text(SCRIPT)
    (folder / "picture.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{SCRIPT}</svg>")
    path = own_home / ".agent" / "journal.sqlite"
    journal = SqliteJournal(path)
    data = {"script": SCRIPT, "error": IMAGE, "backend": SCRIPT, "output": SCRIPT, "path": IMAGE}
    for kind in (Kind.SCRIPT_RUN, Kind.READ, Kind.LOADED, Kind.ACTIVATED):
        journal.record(Event(kind, "evil", SCRIPT, data, SCRIPT, 1))
    journal.record(
        Event(Kind.MATCHED, data={"matched": [{"id": IMAGE, "score": SCRIPT}]}, conversation=SCRIPT, turn=1)
    )
    journal.close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO event (time, kind, conversation, turn, skill, digest, data) VALUES (?,?,?,?,?,?,?)",
            (
                1e9,
                "script_run",
                "../../x",
                1,
                "evil/../<b>",
                SCRIPT,
                '{"duration_ms": {"<b>": 1}, "output": [1]}',
            ),
        )
    with inspecting(own_home, skills_dir) as started:
        yield started


def redirect_of(running: Inspecting, address: str) -> str | None:
    """Where a request leads whose address no client library has tidied up."""
    connection = http.client.HTTPConnection(running.root.removeprefix("http://"))
    connection.request("GET", address)
    answer = connection.getresponse()
    connection.close()
    return answer.getheader("location")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (dev.py system installs it)")
def test_nothing_of_a_hostile_skill_runs_or_leaves(hostile: Inspecting) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        asked: list[str] = []
        refused: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: refused.append(message.text))
        page.on("dialog", lambda dialog: refused.append(f"dialog {dialog.message}"))
        page.goto(hostile.address)
        addresses = {
            "/",
            "/skills",
            "/tests",
            "/skill/evil",
            "/conversations",
            "/runs",
            "/trust",
            "/request?q=" + "%3Cscript%3Ealert(1)%3C%2Fscript%3E+evil",
        }
        seen: set[str] = set()
        while addresses - seen:
            address = min(addresses - seen)
            seen.add(address)
            answer = page.goto(hostile.root + address)
            assert answer is not None
            assert answer.status in (200, 404), address
            expect(page.locator("h1")).to_be_visible()
            assert page.title() != "pwned"
            assert (
                page.locator("main script, main img, main svg [onload], main iframe, main object").count()
                == 0
            )
            assert page.locator("body > footer").count() == 1, f"{address} broke out of its page"
            for link in page.locator("main a").all():
                target = link.get_attribute("href") or ""
                assert target.startswith(("/", "#")), target
                if len(seen) < 40:
                    addresses.add(target)
        assert {url for url in asked if not url.startswith(hostile.root)} == set()
        assert [text for text in refused if "404 (Not Found)" not in text] == []
        browser.close()


def test_only_the_user_of_this_machine_is_answered(hostile: Inspecting) -> None:
    with httpx.Client(base_url=hostile.root) as stranger:
        assert stranger.get("/").status_code == 403
        assert stranger.get("/", params={"token": "guess"}).status_code == 403
        assert stranger.get("/", headers={"Cookie": "skillkit_inspect=guess"}).status_code == 403
        assert stranger.get("/live").status_code == 403
        assert stranger.get("/static/style.css").status_code == 403
    with httpx.Client(base_url=hostile.root) as user:
        entered = user.get("/", params={"token": hostile.token})
        assert entered.status_code == 303
        assert "HttpOnly; SameSite=Strict" in entered.headers["set-cookie"]
        shown = user.get("/")
        assert shown.status_code == 200
        assert "access-control-allow-origin" not in shown.headers
        policy = shown.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert user.get("/", headers={"Host": "evil.example"}).status_code == 421
        assert user.get("/", headers={"Origin": "http://evil.example"}).status_code == 403
        assert user.get("/", headers={"Origin": "null"}).status_code == 403
        assert user.post("/").status_code == 405
        assert redirect_of(hostile, f"//evil.example/?token={hostile.token}") == "/evil.example/"
        for path in ("../../../etc/passwd", "/etc/passwd", "\x00", "a" * 5000):
            answer = user.get("/skill/evil/file", params={"path": path})
            assert answer.status_code in (404, 500)
            assert "root:" not in answer.text
        assert user.get("/runs", params={"before": "9" * 400}).status_code == 200
        assert user.get("/static/../app.py").status_code == 404
