"""The pictures of the documentation show what the program says and the benchmarks recorded."""

import re
import struct
from pathlib import Path

import pytest
from recipes.pictures import FOLDER, PICTURES, charts, inspector, sessions
from recipes.pictures.comparison import agree, differences

from skillkit.disclosure import SkillContextProvider
from skillkit.matching import SkillMatcher

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
RUN = [name for name, session in sessions.SESSIONS.items() if isinstance(session, sessions.Session)]
DRAWN = [name for name in PICTURES if name not in RUN]
ADDRESS = re.compile(r"https?://(?!www\.w3\.org/2000/svg)|url\((?!#)|@import|/home/|/Users/|/tmp/")


def committed(name: str) -> str:
    return (FOLDER / f"{name}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawn_picture_is_current(name):
    assert committed(name) == PICTURES[name](), "python3 dev.py pictures draws it anew"


@pytest.mark.parametrize("name", RUN)
def test_a_picture_of_the_terminal_shows_what_the_program_says(name):
    assert differences(committed(name), PICTURES[name]()) == [], "python3 dev.py pictures draws it anew"


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("csv-report", "csv-report", True),
        ("csv-report", "release-notes", False),
        ("1,348", "1,330", True),
        ("1,348", "1,200", False),
        ("0.70", "0.72", True),
        ("0.70", "0.80", False),
        ("match", "0.70", False),
    ],
)
def test_what_counts_as_the_same(before, now, same):
    assert agree(before, now) is same


def test_a_picture_that_says_more_is_another_one():
    assert differences("<text>a 1</text>", "<text>a</text> <text>1</text>") == []
    assert differences("<text>a 1</text>", "<text>a 1 2</text>") == [("a 1", "a 1 2")]


def test_every_picture_is_made_by_the_recipe_and_shown_on_a_page():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"pictures/([\w-]+)\.svg\)", page.read_text())}
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(PICTURES) == shown


def test_every_page_of_the_inspector_has_its_picture_on_the_page_about_it():
    shown = set(re.findall(r"pictures/([\w-]+)\.png\)", (ROOT / "docs" / "inspector.md").read_text()))
    made = {path.stem: path.read_bytes()[16:24] for path in FOLDER.glob("*.png")}
    assert set(inspector.PAGES) == shown == set(made)
    assert set(made.values()) == {struct.pack(">II", inspector.WIDTH, inspector.HEIGHT)}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_fetches_nothing_and_names_no_machine(name):
    picture = committed(name)
    assert ADDRESS.findall(picture) == []
    assert str(ROOT) not in picture
    assert str(Path.home()) not in picture


@pytest.mark.parametrize(
    "library", charts.recorded("disclosure")["libraries"][:2], ids=lambda it: it["skills"]
)
def test_the_recorded_tokens_are_what_a_request_carries(library, tmp_path):
    from benchmarks import disclosure

    manager = disclosure.library(tmp_path, library["skills"])
    matcher = SkillMatcher(mode="lexical")
    provider = SkillContextProvider(manager, matcher=matcher, counter=disclosure.COUNTER)
    numbers = disclosure.tokens_of(provider, manager)
    assert {name: library[name] for name in numbers} == pytest.approx(numbers, rel=0.03)
