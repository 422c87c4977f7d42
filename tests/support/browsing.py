"""A real browser for the tests of a file, and what every page has to pass in it."""

import shutil
from collections.abc import Iterable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (dev.py system installs it)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


def page_for_checks(browser: Browser, width: int, scheme: str) -> tuple[Page, list[str]]:
    """A page of this width and colour scheme, and what its scripts complain of from now on."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        bypass_csp=True,  # for the checker
    )
    page = context.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    return page, said


def check_pages(page: Page, addresses: Iterable[str], width: int) -> None:
    """Each has a heading, fits the screen and has no violation that axe finds."""
    for address in addresses:
        page.goto(address)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        found = Axe().run(page)
        assert found.violations_count == 0, f"{address}: {found.generate_report()}"
