"""An index that texts come to and go from, or that comes from a file, says what a new one says."""

import sqlite3
from pathlib import Path

import pytest

from skillkit.core.models import SkillMetadata, SourceType
from skillkit.matching import MatchingSettings, SkillMatcher
from skillkit.matching.calibration import CALIBRATIONS
from skillkit.matching.lexical import COMMON, FEWEST_KEPT
from skillkit.matching.store import MOST_FILES

REQUESTS = ("deploy topic7 with terraform modules", "shared boilerplate", "team3 reports", "2+2?")


def library(size, start=0):
    return [
        SkillMetadata(
            f"skill-{number}",
            f"Handles topic{number} for team{number % 10}. Shared boilerplate.",
            Path("/s") / str(number) / "SKILL.md",
            source=SourceType.CUSTOM,
        )
        for number in range(start, start + size)
    ]


def body(skill):
    number = int(skill.name.rpartition("-")[2])
    return f"Deploy terraform modules of topic{number}. " * (1 + number % 5) + "Write reports."


def matcher(skills, cache=None):
    return SkillMatcher(skills, mode="lexical", body=body, settings=MatchingSettings(cache_dir=cache))


def said(found):
    return [found.rank(request, 20) for request in REQUESTS]


def test_an_index_that_was_changed_says_what_a_new_one_says():
    changed = matcher(library(COMMON + 100))
    said(changed)
    for skill in library(60):
        changed.remove(skill)
    for skill in library(30, start=20):
        changed.add(skill)
    wanted = [*library(COMMON + 40, start=60), *library(30, start=20)]
    assert said(changed) == said(matcher(wanted))


def test_a_second_process_reads_the_index_from_disk(tmp_path):
    skills = library(FEWEST_KEPT + 10)
    first = said(matcher(skills, tmp_path))
    (file,) = tmp_path.iterdir()
    read = []
    later = [*skills[3:], *library(2, start=FEWEST_KEPT + 10)]
    again = SkillMatcher(
        later,
        mode="lexical",
        body=lambda skill: read.append(skill.name) or body(skill),
        settings=MatchingSettings(cache_dir=tmp_path),
    )
    assert list(tmp_path.iterdir()) == [file]
    assert len(read) == len(later) + 2, "each text is read for its digest, and only two are split"
    assert said(again) == said(matcher(later))
    assert said(matcher(skills, tmp_path)) == first


def test_two_skills_with_the_same_content_are_both_known(tmp_path):
    skills = library(FEWEST_KEPT)
    copy = SkillMetadata("skill-0", skills[0].description, Path("/other/SKILL.md"), source=SourceType.CUSTOM)
    for _ in range(2):
        found = matcher([*skills, copy], tmp_path).rank("topic0", 3)
        assert [match.skill.name for match in found[:2]] == ["skill-0", "skill-0"]


@pytest.mark.parametrize("damage", [b"", b"not a database at all" * 100])
def test_a_damaged_index_is_made_anew(tmp_path, damage):
    skills = library(FEWEST_KEPT)
    first = said(matcher(skills, tmp_path))
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    assert said(matcher(skills, tmp_path)) == first
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM members").fetchone() == (FEWEST_KEPT,)
    connection.close()


def test_files_are_bounded_and_small_libraries_have_none(tmp_path):
    matcher(library(FEWEST_KEPT - 1), tmp_path)
    assert list(tmp_path.iterdir()) == []
    for start in range(0, (MOST_FILES + 2) * 1000, 1000):
        matcher(library(FEWEST_KEPT, start=start), tmp_path)
    assert len(list(tmp_path.iterdir())) == MOST_FILES


def test_where_nothing_can_be_kept_matching_works_all_the_same(tmp_path):
    (tmp_path / "cache").write_text("in the way")
    skills = library(FEWEST_KEPT)
    assert said(matcher(skills, tmp_path / "cache")) == said(matcher(skills))


def test_the_line_rises_with_the_request_and_with_the_library():
    line = CALIBRATIONS["lexical", "body"].line
    assert line(5, 1) == line(5, 3) < line(5, 30) < line(5, 3_000) == line(5, 20_000) < line(50, 3_000)
