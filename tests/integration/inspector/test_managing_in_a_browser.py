"""With `--manage` the page asks as the terminal does, and leaves the same records."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from inspecting import Inspecting, inspecting
from playwright.sync_api import Browser, Page, expect
from program import clean_environment

from skillkit.install.consents import ConsentFile, ConsentKind
from skillkit.install.registry import InstallRegistry
from skillkit.journal import JournalReader, Kind

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture
def folder(write_skill) -> Path:
    folder = write_skill("csv-report", "Sum the columns.", description="Reports about CSV files.")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "sum.py").write_text("print(1)")
    return folder


@pytest.fixture
def managing(own_home: Path, skills_dir: Path, folder: Path) -> Iterator[Inspecting]:
    with inspecting(own_home, skills_dir, "--manage", selection=None) as started:
        yield started


@pytest.fixture
def page(browser: Browser, managing: Inspecting) -> Iterator[Page]:
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(managing.address)
    yield opened
    context.close()


def test_a_skill_is_trusted_and_enabled_after_its_card_was_shown(
    page: Page, managing: Inspecting, own_home: Path
) -> None:
    page.goto(managing.root + "/trust")
    page.get_by_role("link", name="Trust", exact=True).nth(1).click()
    expect(page.locator("#question h2")).to_have_text("Trust csv-report, exactly as it is now?")
    expect(page.locator("main")).to_contain_text("scripts/sum.py")
    assert not ConsentFile(own_home / ".agent").load()
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("h1")).to_have_text("csv-report")
    [consent] = ConsentFile(own_home / ".agent").load()
    assert (consent.kind, consent.skill) == (ConsentKind.USE, "csv-report")
    page.get_by_role("link", name="Enable").click()
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_role("link", name="Disable")).to_be_visible()
    assert InstallRegistry(own_home / ".agent").load().selection == "csv-report"
    page.goto(managing.root + "/skill/csv-report")
    expect(page.locator("main")).to_contain_text("consent to use given")
    events = [stored.event for stored in JournalReader(own_home / ".agent" / "journal.sqlite").oldest_first()]
    assert [(event.kind, event.digest) for event in events] == [(Kind.CONSENTED, consent.digest)]


def test_the_program_ends_while_a_page_is_watching(
    browser: Browser, own_home: Path, skills_dir: Path
) -> None:
    with inspecting(own_home, skills_dir) as started:
        watching = browser.new_page()
        watching.goto(started.address)
        expect(watching.locator("h1")).to_have_text("Skills on this machine")
    watching.close()


def test_control_c_ends_it_quietly(own_home: Path, skills_dir: Path) -> None:
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]
    process = subprocess.Popen(
        [*command, "inspect", "--no-open", str(skills_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=own_home,
        env=clean_environment(own_home),
    )
    assert process.stdout is not None
    root = process.stdout.readline().partition("/?")[0]
    assert httpx.get(root, timeout=60).status_code == 403  # it serves
    process.send_signal(signal.SIGINT)
    said, complaints = process.communicate(timeout=60)
    assert said == ""
    assert complaints.splitlines() == [
        "Open the address above; press Ctrl-C to stop. It contains a token: do not share it."
    ]


def test_what_was_shown_is_what_is_trusted(
    page: Page, managing: Inspecting, own_home: Path, folder: Path
) -> None:
    page.goto(managing.root + "/manage/trust/csv-report")
    (folder / "scripts" / "sum.py").write_text("print('other bytes')")
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("main")).to_contain_text("changed after it was shown")
    assert not ConsentFile(own_home / ".agent").load()


def test_nothing_changes_without_the_token_of_the_form_or_without_the_option(
    managing: Inspecting, own_home: Path, skills_dir: Path
) -> None:
    cookies = {"skillkit_inspect": managing.token}
    address = managing.root + "/manage/enable/csv-report"
    for sent in ({}, {"form": "0" * 64}, {"form": managing.token}, {"form": "x" * 9000}):
        assert httpx.post(address, cookies=cookies, data=sent).status_code == 403
    assert httpx.post(address, data={"form": "x"}).status_code == 403
    assert httpx.get(managing.root + "/manage/remove/csv-report", cookies=cookies).status_code == 404
    with inspecting(own_home, skills_dir, selection=None) as reading:
        cookies = {"skillkit_inspect": reading.token}
        for method in ("GET", "POST"):
            answer = httpx.request(method, reading.root + "/manage/enable/csv-report", cookies=cookies)
            assert answer.status_code == 404
    assert InstallRegistry(own_home / ".agent").load().selection is None
