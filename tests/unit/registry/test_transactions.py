"""A write transaction is durable when it ends, or it raised and left nothing."""

import sqlite3
from pathlib import Path

import pytest
from registry_databases import new_place, opened

from skillkit.registry.database import Database
from skillkit.registry.sqlite import SqliteDatabase


def names(database: Database) -> list[str]:
    return [row["name"] for row in database.rows("SELECT name FROM setting ORDER BY name")]


def test_a_connection_that_was_closed_before_the_commit_is_an_error(tmp_path: Path) -> None:
    place = new_place(tmp_path)
    database = opened(place)
    with pytest.raises(Exception, match="closed"), database.writing() as writing:
        writing.insert("setting", {"name": "lost", "value": ""}), writing.close()
    assert names(opened(place)) == []


def test_a_commit_that_fails_leaves_no_transaction_open(tmp_path: Path) -> None:
    database = opened(new_place(tmp_path))
    with database.writing():
        database.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        database.run("CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(Exception, match=r"(?i)foreign key"), database.writing():
        database.insert("child", {"id": 1})
    with database.writing():
        database.insert("setting", {"name": "next", "value": ""})
    assert names(database) == ["next"]


def test_a_full_disk_is_the_error_that_is_raised(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "registry.sqlite")
    (pages,) = database.rows("PRAGMA page_count")
    database.rows(f"PRAGMA max_page_count = {pages['page_count'] + 3}")
    with pytest.raises(sqlite3.OperationalError, match="full"), database.writing():
        database.insert("setting", {"name": "large", "value": "x" * 1_000_000})
    with database.writing():
        database.insert("setting", {"name": "small", "value": ""})
    assert names(database) == ["small"]
    database.close()
