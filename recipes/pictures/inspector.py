"""Pictures of the inspector: every page as a real browser shows it, over a library in use.

python3 dev.py pictures --from=FOLDER --from=FOLDER --from=FOLDER
                          those of the documentation; the folders are checkouts of anthropics/skills,
                          obra/superpowers and vercel-labs/agent-skills, in this order
python3 dev.py pictures --from=… --everything=FOLDER
                          every page, desktop and phone, light and dark, into FOLDER
"""

import os
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recipes.pictures.inspector_home import PROGRAM, REPOSITORIES, SHOWN, fill
from skillkit.core.events import Event, Kind, entries_of
from skillkit.journal import JournalReader

WIDTH, HEIGHT = 1080, 780
PHONE = (390, 844)
PAGES = {
    "inspect-home": "/",
    "inspect-request": "/request?q=Review+this+React+component",
    "inspect-skill": f"/skill/{SHOWN}",
    "inspect-conversation": "/conversation/{conversation}",
    "inspect-run": "/run/{run}",
    "inspect-test": "/test/{test}",
}
"""Those that the documentation shows."""
OTHERS = {
    "inspect-what-if": "/request?q=Review+this+React+component&active=vercel-react-best-practices",
    "inspect-skills": "/skills",
    "inspect-file": f"/skill/{SHOWN}/file?path=reference.md",
    "inspect-conversations": "/conversations",
    "inspect-why-not": "/conversation/{conversation}?why=docx",
    "inspect-runs": "/runs",
    "inspect-failed-run": "/run/{failed_run}",
    "inspect-tests": "/tests",
    "inspect-failed-test": "/test/{failed_test}",
    "inspect-report": "/test/{test}/report",
    "inspect-trust": "/trust",
    "inspect-question": "/manage/trust/vercel-react-best-practices",
}
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def draw(folder: Path, names: list[str], repositories: list[Path], *, everything: bool = False) -> None:
    """Write the pictures of `names`; says why when there is no browser or no repository."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None or len(repositories) != len(REPOSITORIES):
        missing = "no chromium here (dev.py system installs it)"
        if browser is not None:
            missing = f"give checkouts of {', '.join(REPOSITORIES)}, each with --from="
        print(f"kept the pictures of the inspector: {missing}")
        return
    from playwright.sync_api import expect, sync_playwright

    with tempfile.TemporaryDirectory(prefix="home-") as place:
        home = Path(place)
        environment = {
            "HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "ENABLE_SENSITIVE_DATA": "true",
            "GIT_CONFIG_GLOBAL": os.devnull, "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }  # fmt: skip
        os.environ.update(environment)
        os.chdir(home)
        fill(home, repositories, environment)
        found = _found(JournalReader(home / ".agent" / "journal.sqlite"))
        asked = [name for name in names if OTHERS.get(name, "").startswith("/manage/")]
        rest = [name for name in names if name not in asked]
        with sync_playwright() as playwright:
            started = playwright.chromium.launch(executable_path=browser, args=FLAGS)
            for some, options in ((rest, []), (asked, ["--manage"])):
                with _inspecting(home, environment, *options) as address:
                    for width, height, scheme in _looks(everything=everything):
                        size = {"width": width, "height": height}
                        page = started.new_page(viewport=size, color_scheme=scheme, timezone_id="UTC")
                        page.goto(address)
                        kind = f"-{'phone' if width < WIDTH else 'desktop'}-{scheme}" if everything else ""
                        for name in some:
                            chosen = {**PAGES, **OTHERS}[name].format(**found)
                            page.goto(address.partition("/?")[0] + chosen)
                            page.locator("h1").wait_for()
                            for pending in ("counting …", "not looked at yet"):
                                expect(page.locator("body")).not_to_contain_text(pending, timeout=60_000)
                            picture = page.screenshot(full_page=everything)
                            file = folder / f"{name}{kind}.png"
                            file.write_bytes(picture if everything else _packed(picture))
                            print(f"drew {folder.name}/{file.name}")
                        page.close()
            started.close()


def _packed(png: bytes) -> bytes:
    """Return the browser's picture without its filters: a page of flat colours is a quarter smaller so."""
    chunks, place = [], 8
    while place < len(png):
        size, kind = struct.unpack(">I4s", png[place : place + 8])
        chunks.append((kind, png[place + 8 : place + 8 + size]))
        place += 12 + size
    header = chunks[0][1]
    width, channels = struct.unpack(">I", header[:4])[0], {2: 3, 6: 4}[header[9]]
    packed = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    step = width * channels
    above, rows = bytes(step + channels), bytearray()
    for start in range(0, len(packed), step + 1):
        line = bytearray(channels) + packed[start + 1 : start + 1 + step]
        for at in range(channels, len(line)):
            left, up, corner = line[at - channels], above[at], above[at - channels]
            nearest = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
            line[at] = line[at] + (0, left, up, (left + up) // 2, nearest)[packed[start]] & 255
        rows += b"\0" + line[channels:]
        above = bytes(line)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    return png[:8] + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


def _looks(*, everything: bool) -> list[tuple[int, int, str]]:
    if not everything:
        return [(WIDTH, HEIGHT, "light")]
    return [(*size, scheme) for size in ((WIDTH, HEIGHT), PHONE) for scheme in ("light", "dark")]


def _found(journal: JournalReader) -> dict[str, object]:
    """Return what to show: the newest of each kind, and a conversation in which a skill was used."""
    newest: dict[str, object] = {}
    talks: dict[str, list[Event]] = defaultdict(list)
    for stored in journal.oldest_first():
        event = stored.event
        talks[event.conversation].append(event)
        if event.kind is Kind.SCRIPT_RUN:
            failed = bool(event.data.get("error"))
            if failed or entries_of(event.data.get("network")):
                newest["failed_run" if failed else "run"] = stored.id
        elif event.kind is Kind.TESTED:
            failed = bool(event.data.get("failed"))
            if failed or event.skill == "xlsx":
                newest["failed_test" if failed else "test"] = stored.id
    used = {
        name: max(event.turn for event in events)
        for name, events in talks.items()
        if Kind.ACTIVATED in {event.kind for event in events}
        and any(event.kind is Kind.SCRIPT_RUN for event in events)
        and not any(event.kind is Kind.REFUSED or event.data.get("error") for event in events)
    }
    return {**newest, "conversation": max(used, key=lambda name: used[name])}


@contextmanager
def _inspecting(home: Path, environment: dict[str, str], *options: str) -> Iterator[str]:
    process = subprocess.Popen(
        [*PROGRAM, "inspect", "--no-open", *options],
        cwd=home,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(timeout=30)
