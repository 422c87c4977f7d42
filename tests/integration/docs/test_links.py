"""Every link, anchor and picture leads somewhere: in the pages as GitHub shows them, and on the site."""

import os
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from recipes import site

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / name for name in site.PAGES] + sorted((ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
FETCHED = {"script": "src", "img": "src", "source": "srcset", "iframe": "src", "link": "href"}


class Page(HTMLParser):
    """What a page of the site refers to, what can be referred to in it, and what it fetches."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors = {""}
        self.fetched: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.links |= {given[name] for name in ("href", "src") if name in given}
        if given.get("rel") not in ("prev", "next", "canonical") and FETCHED.get(tag) in given:
            self.fetched.add(given[FETCHED[tag]])


def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


@cache
def github_anchors(page: Path) -> frozenset[str]:
    """The anchors that GitHub gives to the headings of a page."""
    anchors: list[str] = []
    for heading in re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE):
        words = re.sub(r"\]\([^)]*\)", "", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        seen = anchors.count(anchor)
        anchors.append(f"{anchor}-{seen}" if seen else anchor)
    return frozenset(["", *anchors])


def broken(page: Path, text: str) -> Iterator[str]:
    """The links of `text` that lead nowhere from `page`; of other sites' only the form is looked at."""
    for first, second in LINK.findall(CODE.sub("", text)):
        target = first or second
        address = urlsplit(target)
        if address.scheme:
            if address.scheme != "https" or "." not in address.netloc or address.username:
                yield target
            continue
        path = (page.parent / unquote(address.path)).resolve() if address.path else page
        exists = path.is_relative_to(ROOT) and path.exists()
        if not exists or (path.suffix == ".md" and address.fragment not in github_anchors(path)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page):
    assert list(broken(page, prose(page))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_column_of_a_table_has_a_head(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    heads = [head for head, rule in pairwise(lines) if re.fullmatch(r"\|(?: *:?-+:? *\|)+", rule)]
    assert [head for head in heads if any(not cell.strip() for cell in head.strip("|").split("|"))] == []


def test_a_link_that_leads_nowhere_would_be_noticed():
    wrong = [
        "nowhere.md",
        "SKILLS.md#nowhere",
        "#nowhere",
        "../../outside.md",
        "pictures/nowhere.svg",
        "http://example.com/",
        "https://nobody@example.com/",
    ]
    links = "".join(f"[link]({target})\n" for target in [*wrong, "SKILLS.md#names", "https://example.com/"])
    assert list(broken(ROOT / "docs" / "cli.md", links)) == wrong


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    assert site.build(folder) == 0, "the site does not build without warnings"
    return folder


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(built):
    pages = {path: Page(path) for path in sorted(built.rglob("*.html")) if path.name != "404.html"}
    assert len(pages) == len(PAGES) + 1, "the API is generated"
    lost = []
    for path, page in pages.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            if target.is_dir():
                target /= "index.html"
            anchors = pages[target].anchors if target in pages else {"", unquote(address.fragment)}
            if not target.is_file() or unquote(address.fragment) not in anchors:
                lost.append(f"{path.name}: {link}")
    assert lost == []


@pytest.mark.slow
def test_the_site_fetches_nothing_from_elsewhere(built):
    fetched = {link for path in built.rglob("*.html") for link in Page(path).fetched}
    assert fetched
    assert [link for link in fetched if urlsplit(link).netloc] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in built.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", styles) == []


@pytest.mark.slow
def test_the_readme_is_the_front_page_and_its_files_come_along(built):
    front = (built / "index.html").read_text(encoding="utf-8")
    assert "Agent Skills for any Python agent" in front
    assert 'href="SKILLS.html"' in front
    example = (ROOT / "examples" / "openai_sdk.py").read_text()
    assert (built / "files" / "examples" / "openai_sdk.py.txt").read_text() == example


@pytest.mark.slow
def test_the_reference_of_the_api_is_made_from_the_docstrings(built):
    page = (built / "api.html").read_text(encoding="utf-8")
    for name in ("SkillManager", "SkillContextProvider", "SkillInstaller", "UserAuthority", "Conversation"):
        assert f">{name}" in page
    assert "Decides by AGENT_SKILLS and by consents" in page
    assert os.environ["PATH"] not in page, "what a default is worked out of is not written down"


@pytest.mark.slow
def test_the_site_can_be_searched(built):
    assert "kalshi-markets" in (built / "search.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_warning_of_the_generator_fails_the_build(tmp_path):
    site.collect(tmp_path)
    page = tmp_path / "docs" / "migration.md"
    page.write_text(page.read_text() + "\nSee [there](library.md#nowhere).\n")
    assert site.generate(tmp_path) != 0
