"""The catalogue on disk remembers, searches, survives damage, and is shared without loss."""

import os
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest

from skillkit.core.cache import Stamp
from skillkit.core.manager import SkillManager
from skillkit.matching import SqliteCatalogIndex
from skillkit.matching import catalog_index as module

STAMP = Stamp(1, 2, 3)


@pytest.fixture
def index(tmp_path):
    index = SqliteCatalogIndex(tmp_path / "cache")
    yield index
    index.close()


def put(index, *skills):
    for skill in skills:
        index.put(str(skill.skill_path), STAMP, skill)


def file_of(tmp_path):
    return tmp_path / "cache" / "catalogue.sqlite"


def test_a_skill_is_remembered_for_one_state_of_its_file(index, everyday, tmp_path):
    skill = everyday[0]
    path = str(skill.skill_path)
    put(index, skill)
    assert index.get(path, STAMP) == skill
    index.close()
    again = SqliteCatalogIndex(tmp_path / "cache")
    assert again.get(path, STAMP) == skill
    assert again.get(path, STAMP) == skill
    assert again.get(path, STAMP._replace(size=9)) is None
    assert again.get(path + "x", STAMP) is None
    put(again, replace(skill, description="Changed"))
    assert again.get(path, STAMP._replace(inode=9)) is None
    again.flush()
    assert again.get(path, STAMP).description == "Changed"
    again.close()


def test_an_inode_may_use_all_64_bits(index, everyday):
    path = str(everyday[0].skill_path)
    stamp = Stamp(1, 2, (1 << 64) - 1)
    index.put(path, stamp, everyday[0])
    index.flush()
    assert index.get(path, stamp) == everyday[0]


def test_another_version_of_skillkit_reads_the_files_again(index, everyday, monkeypatch):
    put(index, everyday[0])
    index.flush()
    monkeypatch.setattr(module, "__version__", "0.0.0")
    assert index.get(str(everyday[0].skill_path), STAMP) is None


def test_a_record_under_a_wrong_path_is_not_believed(index, everyday, tmp_path):
    put(index, *everyday)
    index.close()
    with sqlite3.connect(file_of(tmp_path)) as connection:
        connection.execute("UPDATE skills SET record = (SELECT record FROM skills WHERE id = 2) WHERE id = 1")
        connection.execute("UPDATE skills SET record = 'x' WHERE id = 3")
    connection.close()
    again = SqliteCatalogIndex(tmp_path / "cache")
    found = [again.get(str(skill.skill_path), STAMP) for skill in everyday]
    assert found == [None, everyday[1], None, *everyday[3:]]
    index.put("elsewhere", STAMP, everyday[0])
    assert index.get("elsewhere", STAMP) is None
    again.close()


def test_a_search_finds_the_skills_that_share_words(index, everyday):
    put(index, *everyday)
    assert [hit.skill.name for hit in index.search("extracting PDF tables")] == ["pdf-extractor"]
    hits = index.search("git pictures video", limit=2)
    assert len(hits) == 2
    assert hits[0].relevance >= hits[1].relevance
    assert index.search("the of") == []
    assert index.search("git", limit=0) == []
    assert index.search('git" OR name:*') != []


def test_a_search_can_be_held_to_some_skills(index, everyday):
    put(index, *everyday)
    allowed = [str(everyday[3].skill_path)]
    assert [hit.skill.name for hit in index.search("video clips and pictures", among=allowed)] == ["image"]
    assert index.search("video clips", among=[]) == []


def test_a_changed_skill_is_found_by_its_new_words_only(index, everyday):
    put(index, everyday[0])
    index.flush()
    put(index, replace(everyday[0], description="Polish brass"))
    assert [hit.skill.name for hit in index.search("brass")] == ["pdf-extractor"]
    assert index.search("scanned") == []


def test_the_index_is_bounded_and_keeps_what_was_used_last(everyday, tmp_path, monkeypatch):
    index = SqliteCatalogIndex(tmp_path / "cache", most=3)
    put(index, *everyday[:3])
    index.close()
    monkeypatch.setattr(module, "_today", lambda: 99_999)
    index = SqliteCatalogIndex(tmp_path / "cache", most=3)
    assert index.get(str(everyday[1].skill_path), STAMP)
    put(index, *everyday[3:5])
    index.close()
    index = SqliteCatalogIndex(tmp_path / "cache")
    kept = [skill.name for skill in everyday if index.get(str(skill.skill_path), STAMP)]
    assert kept == [everyday[1].name, everyday[3].name, everyday[4].name]
    assert index.search("scanned form") == []
    index.close()


def test_many_waiting_skills_are_written_without_being_asked(index, everyday, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WAITING", 2)
    put(index, *everyday[:2])
    connection = sqlite3.connect(file_of(tmp_path))
    assert connection.execute("SELECT count(*) FROM skills").fetchone() == (2,)
    connection.close()


@pytest.mark.parametrize("how", ["garbage", "empty", "torn", "no table", "newer version"])
def test_a_damaged_or_foreign_file_is_made_anew_without_loss(index, everyday, tmp_path, how):
    put(index, *everyday)
    index.close()
    file = file_of(tmp_path)
    if how in ("garbage", "empty", "torn"):
        content = file.read_bytes()
        file.write_bytes(
            {"garbage": b"garbage" * 999, "empty": b"", "torn": content[: len(content) // 3]}[how]
        )
    else:
        with sqlite3.connect(file) as connection:
            connection.execute("DROP TABLE skills" if how == "no table" else "PRAGMA user_version = 99")
        connection.close()
    again = SqliteCatalogIndex(tmp_path / "cache")
    path = str(everyday[0].skill_path)
    assert again.get(path, STAMP) is None
    put(again, *everyday)
    again.close()
    last = SqliteCatalogIndex(tmp_path / "cache")
    assert all(last.get(str(skill.skill_path), STAMP) == skill for skill in everyday)
    assert last.search("scanned form")
    last.close()


def test_where_no_file_can_be_had_nothing_is_remembered_and_nothing_fails(everyday, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    index = SqliteCatalogIndex(tmp_path / "cache")
    put(index, *everyday)
    index.flush()
    assert index.get(str(everyday[0].skill_path), STAMP) is None
    assert index.search("pdf") == []
    index.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_used(everyday, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    index = SqliteCatalogIndex(folder)
    put(index, *everyday)
    index.close()
    assert list(folder.iterdir()) == []


def test_a_warm_start_reads_only_what_changed(write_skill, skills_dir, tmp_path, monkeypatch):
    for number in range(5):
        write_skill(f"skill-{number}", description=f"Number {number}")
    index = SqliteCatalogIndex(tmp_path / "cache")
    cold = SkillManager(skill_dir=skills_dir, memo=index)
    cold.discover()
    index.close()
    write_skill("skill-3", description="Something else entirely")

    read = []
    from skillkit.core import discovery

    original = discovery.read_head
    monkeypatch.setattr(discovery, "read_head", lambda path: read.append(path) or original(path))
    warm = SkillManager(skill_dir=skills_dir, memo=SqliteCatalogIndex(tmp_path / "cache"))
    warm.discover()
    assert [os.path.basename(os.path.dirname(path)) for path in read] == ["skill-3"]
    assert warm.get_skill("skill-3").description == "Something else entirely"
    assert warm.get_skill("skill-1") == cold.get_skill("skill-1")


def test_many_processes_write_and_damage_and_rebuild_without_harm(tmp_path, everyday):
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from skillkit.core.cache import Stamp
        from skillkit.core.models import SkillMetadata, SourceType
        from skillkit.matching import SqliteCatalogIndex

        index = SqliteCatalogIndex(Path(sys.argv[1]))
        for number in range(30):
            path = f"/skills/{sys.argv[2]}-{number}/SKILL.md"
            skill = SkillMetadata(f"s-{number}", "Shared words", Path(path), source=SourceType.CUSTOM)
            index.put(path, Stamp(1, 2, 3), skill)
            index.flush()
            assert index.get(path, Stamp(1, 2, 3)) in (skill, None)
        index.close()
        """
    )
    folder = tmp_path / "cache"
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), str(number)]) for number in range(4)
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0, 0]
    index = SqliteCatalogIndex(folder)
    assert len(index.search("shared words", limit=1000)) == 120
    index.close()


def test_what_waits_is_written_when_the_program_ends(tmp_path):
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from skillkit.core.cache import Stamp
        from skillkit.core.models import SkillMetadata, SourceType
        from skillkit.matching import SqliteCatalogIndex

        index = SqliteCatalogIndex(Path(sys.argv[1]))
        skill = SkillMetadata("one", "Words", Path("/s/one/SKILL.md"), source=SourceType.CUSTOM)
        index.put("/s/one/SKILL.md", Stamp(1, 2, 3), skill)
        """
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=60)
    index = SqliteCatalogIndex(tmp_path)
    assert index.get("/s/one/SKILL.md", STAMP).name == "one"
    index.close()


def test_a_forked_child_opens_its_own_connection(index, everyday):
    put(index, everyday[0])
    index.flush()
    path = str(everyday[0].skill_path)
    child = os.fork()
    if child == 0:
        os._exit(0 if index.search("scanned") and index.get(path, STAMP) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert index.get(path, STAMP)
