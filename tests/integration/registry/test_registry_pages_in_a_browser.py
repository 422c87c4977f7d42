"""Every page of a registry in a real browser: on a screen in the light, on a phone in the dark."""

from collections.abc import Iterator

import httpx
import pytest
from browsing import browser, check_pages, page_for_checks
from playwright.sync_api import Browser, Page, expect
from registering import packed, skill_files
from registry_server import Serving, serving

PUBLIC = (
    "/",
    "/?q=invoices",
    "/?q=nothing+at+all",
    "/acme",
    "/acme/invoices",
    "/login",
    "/no/such",
    "/device",
)
PRIVATE = (
    "/acme/invoices/1.0.0",
    "/acme/invoices/1.2.0",
    "/acme/invoices/compare?from=1.0.0&to=1.1.0",
    "/review",
    "/acme/invoices/1.2.0/review",
    "/tokens",
    "/events",
    "/device",
    "/login",
)
__all__ = ["browser"]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("server"), "--hold", "grown", "--reads", "100000") as started:
        token = started.token("ada", "--owner", "acme", "--scope", "publish")
        described = "Sort, rename and merge invoices; write a table of what is due and when it was paid."
        cases = '[{"query": "merge all my invoices into one file", "should_trigger": true}]'
        files = {**skill_files("invoices", description=described), "evals/evals.json": cases}
        versions = {
            "1.0.0": files,
            "1.1.0": {**files, "references/a-rather-long-name-of-a-file-about-taxes.md": "| a | b |\n"},
            "1.2.0": {**files, "scripts/merge.py": "import urllib.request\nprint(1)\n"},
        }
        for version, content in versions.items():
            sent = httpx.post(
                f"{started.base}/api/skillkit/v1/acme?version={version}",
                content=packed(content),
                headers={"authorization": f"Bearer {token}"},
            )
            assert sent.status_code == 201, sent.text
        yield started


def sign_in(page: Page, server: Serving) -> None:
    page.goto(f"{server.base}/login")
    page.get_by_label("Token").fill(server.token("rose", "--scope", "review", "--scope", "read"))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="Review")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
def test_every_page_is_accessible_fits_its_screen_and_says_nothing_in_the_console(
    browser: Browser, server: Serving, width: int, scheme: str
) -> None:
    page, said = page_for_checks(browser, width, scheme)
    check_pages(page, [server.base + address for address in PUBLIC], width)
    sign_in(page, server)
    check_pages(page, [server.base + address for address in PRIVATE], width)
    assert said == []
    page.context.close()


def test_a_line_is_copied_and_a_held_version_is_approved_and_found(browser: Browser, server: Serving) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{server.base}/acme/invoices")
    install = page.locator("section", has=page.get_by_role("heading", name="Install", exact=True))
    install.get_by_role("button", name="Copy").first.click()
    expect(install.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"agent skill add {server.base}/acme/invoices"
    sign_in(page, server)
    page.get_by_role("link", name="Review").click()
    page.get_by_role("link", name="acme/invoices 1.2.0").click()
    expect(page.locator("main")).to_contain_text("scripts/merge.py")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("main")).to_contain_text("Nothing is waiting for review.")
    page.goto(server.base)
    page.get_by_label("Search skills").fill("invoices")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="acme/invoices").click()
    expect(page.locator("h1")).to_have_text("acme/invoices 1.2.0")
    page.get_by_role("link", name="since 1.1.0").click()
    expect(page.locator("main")).to_contain_text("+ scripts/merge.py")
    assert said == []
    context.close()
