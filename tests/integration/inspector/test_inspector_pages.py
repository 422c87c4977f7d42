"""Every page in a real browser: read, filtered, watched, by keyboard, on a phone, in the dark."""

from pathlib import Path

import pytest
from browsing import check_pages, page_for_checks
from inspecting import Inspecting
from playwright.sync_api import Browser, Page, expect

from skillkit.journal import Event, Kind, SqliteJournal

PAGES = (
    "/",
    "/skills",
    "/skills?which=unused&order=tokens",
    "/request",
    "/request?q=Turn+this+CSV+into+a+report",
    "/request?q=release&mode=keyword&threshold=0.9&active=release-notes",
    "/conversations",
    "/conversation/talk-1?why=release-notes",
    "/runs",
    "/run/4",
    "/trust",
    "/tests",
    "/test/6",
    "/test/6/report",
    "/skill/csv-report",
    "/skill/csv-report/file?path=references%2Freport.md",
)
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
def test_every_page_is_accessible_fits_its_screen_and_says_nothing_in_the_console(
    browser: Browser, running: Inspecting, width: int, scheme: str
) -> None:
    page, said = page_for_checks(browser, width, scheme)
    page.on("console", lambda message: said.append(message.text))
    page.goto(running.address)
    check_pages(page, [running.root + address for address in PAGES], width)
    assert said == []
    page.context.close()


def test_paper_is_light_and_a_phone_has_no_heads_to_stop_at(browser: Browser, running: Inspecting) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.goto(running.address)
    assert page.request.get(running.root + "/static/icon.svg").ok
    page.goto(running.root + "/skills")
    expect(page.locator("th a").first).to_be_hidden()
    ground = "getComputedStyle(document.documentElement).getPropertyValue('--ground')"
    assert page.evaluate(ground) == "#121319"
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "#f7f7f9"
    context.close()


def test_home_answers_what_is_active_needed_done_and_never_used(page: Page) -> None:
    expect(page.locator("#active")).to_contain_text("Active5of 5 that were found")
    expect(page.locator("#active")).to_contain_text("tokens, without a skill", timeout=60_000)
    expect(page.locator("#needs")).to_contain_text("csv-report 1 of its tests failed")
    expect(page.locator("#needs .command").first).to_contain_text("agent skill test csv-report")
    expect(page.locator("#lately")).to_contain_text("sum.py blocked by the sandbox: evil.example")
    expect(page.locator("#lately svg.chart")).to_be_visible()
    expect(page.locator("#unused")).to_contain_text("release-notes")
    expect(page.locator("#unused .command")).to_contain_text("agent skill disable")


def test_heads_of_tables_are_printed(page: Page, running: Inspecting) -> None:
    page.goto(running.root + "/tests")
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Passed")).to_be_visible()
    expect(page.get_by_role("button", name="Copy").first).to_be_hidden()


def test_tables_sort_by_their_heads_and_filter_while_typing(page: Page, running: Inspecting) -> None:
    page.goto(running.root + "/tests")
    head = page.get_by_role("button", name="Passed")
    passed = page.locator("tbody tr td:nth-child(3)")
    head.click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Passed")
    expect(passed).to_have_text(["0 passed", "1 passed"])
    head.focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Passed")
    expect(passed).to_have_text(["1 passed", "0 passed"])
    page.goto(running.root + "/runs")
    page.get_by_label("Search").press_sequentially("nothing like this")
    expect(page.locator("#list tbody tr:visible")).to_have_count(0)
    page.get_by_label("Search").fill("sum.py")
    expect(page.locator("#list tbody tr:visible")).to_have_count(1)


def test_without_a_script_every_page_says_the_same(browser: Browser, running: Inspecting) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(running.address)
    page.goto(running.root + "/skills?order=name")
    page.get_by_role("link", name="Tokens").click()
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Tokens")
    page.goto(running.root + "/request")
    page.get_by_label("What would you ask?").fill("a report about this CSV file")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#result")).to_contain_text("Put into the prompt: csv-report")
    for address in PAGES:
        answer = page.goto(running.root + address)
        assert answer is not None
        assert answer.ok, address
        expect(page.locator("h1")).to_be_visible()
        assert page.locator("button.copy, th button, .filter").count() == 0, address
    context.close()


def test_skills_are_listed_with_their_cost_and_filtered_by_keyboard(page: Page, running: Inspecting) -> None:
    page.goto(running.root + "/skills")
    expect(page.locator("#skills tbody tr:visible")).not_to_have_count(0)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.locator("input[type=search]").focus()
    page.keyboard.type("release")
    expect(page.locator("#skills tbody tr:visible")).to_have_count(1)
    expect(page.locator("#count")).to_have_text("1 skill, of 5 skills")
    page.locator("#skills tbody tr:visible a").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("release-notes")
    expect(page.locator(".prose")).to_contain_text("Write notes.")


def test_a_request_is_scored_while_it_is_typed_and_under_assumptions(page: Page, running: Inspecting) -> None:
    page.goto(running.root + "/request")
    page.get_by_label("What would you ask?").fill("a report about this CSV file")
    result = page.locator("#result")
    expect(result).to_contain_text("Put into the prompt: csv-report")
    expect(result).to_contain_text("of them from skills")
    expect(result.locator("h2").first).to_have_text("Scores (lexical, threshold 0.50)")
    expect(result.locator("pre.skills")).to_contain_text("Sum the columns of the CSV file.")
    page.get_by_label("What if: mode").select_option("keyword")
    expect(result).to_contain_text("What if: no skill is put in instead of csv-report.")
    page.get_by_label("What if: mode").select_option("")
    page.get_by_label("What if: threshold").fill("0.1")
    expect(result).to_contain_text("What if: nothing changes, csv-report is put in.")
    assert "q=a+report+about+this+CSV+file" in page.url


def test_tests_are_compared_with_the_run_before(page: Page, running: Inspecting) -> None:
    page.goto(running.root + "/tests")
    expect(page.locator("tbody tr").first).to_contain_text("100% → 0%")
    expect(page.locator("tbody tr").first).to_contain_text("2 not run")
    expect(page.locator("tbody tr").last).not_to_contain_text("not run")
    page.locator("tbody tr").first.get_by_role("link").first.click()
    expect(page.locator("main")).to_contain_text("<b>release-notes won</b>")
    expect(page.locator("main section").first).to_contain_text("worse")
    expect(page.locator("section", has=page.get_by_role("heading", name="Failed"))).to_contain_text(
        "Asked: sums"
    )
    page.get_by_role("link", name="The whole report").click()
    expect(page.locator("h1")).to_have_text("Tests of csv-report")


def test_a_skill_shows_its_scripts_with_what_they_need_and_get(page: Page, running: Inspecting) -> None:
    page.goto(running.root + "/skill/csv-report")
    scripts = page.locator("section", has=page.get_by_role("heading", name="Scripts", exact=True))
    expect(scripts).to_contain_text("python")
    expect(scripts).to_contain_text("pandas")
    expect(scripts).to_contain_text("Is given")
    header = page.locator("section", has=page.get_by_role("heading", name="Header", exact=True))
    expect(header).to_contain_text("description: Reports about CSV files.")
    use = page.locator("section", has=page.get_by_role("heading", name="Use", exact=True))
    expect(use).to_contain_text("Matched")


def test_text_header_and_files_of_a_skill_are_copied(page: Page, running: Inspecting) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copied = "navigator.clipboard.readText()"
    page.goto(running.root + "/skill/csv-report")
    page.get_by_role("button", name="Copy header").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate(copied).splitlines()[:2] == ["---", "name: csv-report"]
    page.get_by_role("button", name="Copy text").click()
    expect(page.get_by_role("button", name="Copied")).to_have_count(2)
    assert page.evaluate(copied).startswith('<skill_context id="csv-report">')
    page.goto(running.root + "/skill/csv-report/file?path=references%2Freport.md")
    page.get_by_role("button", name="Copy file").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate(copied) == "## Totals\n"


def test_a_run_is_listed_with_memory_and_the_hosts_it_tried(page: Page, running: Inspecting) -> None:
    page.goto(running.root + "/runs")
    row = page.locator("#list tbody tr").first
    assert "7 MiB" in row.inner_text()
    assert "blocked by the sandbox: evil.example" in row.inner_text()
    assert "0.01 s" in row.inner_text()
    page.goto(running.root + "/run/4")
    expect(page.locator("main")).to_contain_text("Time0.01 s of 60 s")
    grants = page.locator("section", has=page.get_by_role("heading", name="Grants"))
    expect(grants).to_contain_text("Hostsapi.example.com, evil.exampleapi.example.comapi.example.com")
    expect(grants).to_contain_text("VariablesTOKENnothingnot recorded")


def test_a_conversation_says_why_and_why_not(page: Page, running: Inspecting) -> None:
    page.goto(running.root + "/conversation/talk-1")
    expect(page.locator("#timeline")).to_contain_text("The request matched csv-report (0.91)")
    page.get_by_label("Why not this skill?").fill("release-notes")
    page.get_by_role("button", name="Answer").click()
    expect(page.locator("#timeline")).to_contain_text("below the threshold: 0.31 where 0.50 is needed: notes")


def test_two_tabs_see_what_happens_while_they_watch(
    page: Page, running: Inspecting, own_home: Path, write_skill
) -> None:
    page.goto(running.root + "/skills")
    other = page.context.new_page()
    other.goto(running.root + "/conversation/talk-1")
    expect(other.locator("#timeline .read")).to_have_count(0)
    journal = SqliteJournal(own_home / ".agent" / "journal.sqlite")
    journal.record(
        Event(Kind.READ, "csv-report", data={"path": "references/report.md"}, conversation="talk-1", turn=2)
    )
    journal.close()
    expect(other.locator("#timeline .read")).to_have_count(1)
    write_skill("brand-new", description="Something that was not there before.")
    expect(page.locator("#changed")).to_contain_text("Skills changed on disk")
    page.locator("#changed a").click()
    expect(page.locator("#skills")).to_contain_text("brand-new")


def test_what_is_not_there_is_a_page_that_says_so(page: Page, running: Inspecting) -> None:
    for address in ("/skill/no-such-skill", "/nowhere", "/run/999999", "/conversation/never"):
        page.goto(running.root + address)
        expect(page.locator(".nothing")).to_be_visible()
