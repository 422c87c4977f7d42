"""Texts of skills, events and reports are third-party: on every page they are text and nothing else."""

from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from skillkit.evaluation.archive import ReportArchive
from skillkit.evaluation.report import CaseOutcome, Report, Result, SkillUnderTest, Tier
from skillkit.inspector.app import create_app
from skillkit.inspector.library import Library
from skillkit.inspector.security import COOKIE
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import Selection
from skillkit.journal import Event, Kind, SqliteJournal

PORT = 8124
EVIL = "<script>alert(1)</script><img src=//evil.example/x onerror=alert(2)>\" onmouseover='x' \u202e"
LINK = "[x](javascript:alert(3)) ![y](https://evil.example/y.png) <https://evil.example>"
ELEMENTS = frozenset(
    "html head meta title link script body a header strong svg rect line text nav ul li p main h1 h2 h3 h4"
    " h5 h6 section div dl dt dd span small b q code pre table caption thead tbody tr th td form label input"
    " select option button details summary time footer ol datalist em blockquote hr br".split()
)


class Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def library(own_home: Path, write_skill, skills_dir: Path) -> Library:
    write_skill("evil", f"# {EVIL}\n\n{LINK}\n", description=f"'{EVIL.replace(chr(39), '')} report'")
    (skills_dir / "evil" / "scripts").mkdir()
    (skills_dir / "evil" / "scripts" / "<b>x.py").write_text(EVIL)
    journal = SqliteJournal(own_home / ".agent" / "journal.sqlite")
    scored = [{"id": EVIL, "score": EVIL, "reasons": [EVIL, 7]}]
    result = Result(Tier.ROUTING, EVIL, EVIL, CaseOutcome.FAILED, EVIL, EVIL, data={"request": EVIL})
    report = Report((result,), (SkillUnderTest(EVIL, EVIL),), created="2026-01-01T00:00:00Z")
    tested = {"passed": EVIL, "failed": 1, "tiers": [EVIL], "pass_rate": EVIL}
    tested["report"] = ReportArchive(own_home / ".agent" / "tests").keep(report)
    run = dict.fromkeys(("script", "error", "output", "errors", "backend", "duration_ms", "files"), EVIL)
    grants = {"hosts": [EVIL], "env": EVIL, "network": EVIL}
    run |= {"network": [{"host": EVIL, "reason": EVIL, "port": EVIL}], "asked": grants, "grants": grants}
    for event in (
        Event(Kind.OFFERED, "", "d", {"count": EVIL, "ids": [EVIL], "refused": {EVIL: EVIL}}, EVIL, 1),
        Event(Kind.MATCHED, "", "d", {"request": {"text": EVIL}, "matched": scored, "near": scored}, EVIL, 1),
        Event(
            Kind.MODEL_CALLED, EVIL, "d", {"model": EVIL, "tokens": {"system": EVIL, "output": EVIL}}, EVIL, 1
        ),
        Event(Kind.SCRIPT_RUN, EVIL, EVIL, run, EVIL, 1),
        Event(Kind.SCRIPT_DENIED, EVIL, EVIL, {"script": EVIL, "reason": EVIL}, EVIL, 1),
        Event(Kind.TESTED, EVIL, EVIL, tested),
        Event(Kind.REFUSED, EVIL, EVIL, {"wanted": EVIL}, EVIL, 2),
        Event(Kind.UNKNOWN, EVIL, EVIL, {EVIL: EVIL}, EVIL, 2),
    ):
        journal.record(event)
    journal.close()
    return Library(
        lambda: EnabledSkills(search=[skills_dir], bundled=False, selection=Selection("all-untrusted")),
        own_home / ".agent" / "journal.sqlite",
        system=EVIL,
    )


async def test_hostile_texts_are_text_on_every_page(library: Library) -> None:
    quoted = str(httpx.QueryParams({"q": EVIL, "why": EVIL, "skill": EVIL, "active": EVIL, "from": EVIL}))
    name = next(one.conversation for one in _events(library) if one.conversation)
    address = httpx.URL("http://x").copy_with(path=f"/conversation/{name}").raw_path.decode()
    pages = [
        "/", "/skills", "/request?q=report", "/conversations", "/runs", "/tests", "/trust", "/skill/evil",
        "/run/4", "/run/5", "/test/6", "/nowhere/<script>", address,
        *(f"{page}?{quoted}" for page in ("/skills", "/request", "/conversations", "/runs", address)),
        "/skill/evil/file?path=scripts/%3Cb%3Ex.py",
    ]  # fmt: skip
    transport = httpx.ASGITransport(create_app(library, PORT, "t0ken"))
    root = f"http://127.0.0.1:{PORT}"
    async with httpx.AsyncClient(transport=transport, base_url=root, cookies={COOKIE: "t0ken"}) as client:
        for page in pages:
            answer = await client.get(page)
            assert answer.status_code in (200, 404), (page, answer.text)
            assert "script-src 'self'" in answer.headers["content-security-policy"]
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert "\u202e" not in answer.text, page
            for element, attributes in Elements(answer.text).found:
                assert element in ELEMENTS, (page, element)
                assert not [key for key in attributes if key.startswith("on") or key == "style"], page
                for key in ("href", "src", "action"):
                    place = attributes.get(key) or "/"
                    assert place[0] in "/#", (page, place)
                    assert not place.startswith("//"), (page, place)


def _events(library: Library) -> list[Event]:
    return [stored.event for stored in library.journal.events()]
