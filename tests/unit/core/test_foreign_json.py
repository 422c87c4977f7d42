"""JSON of others: too deep, too large, or no plain file at all."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillkit.agent.conversations import ConversationError, ConversationStore
from skillkit.agent.local.results import answer_from_result
from skillkit.agent.settings import SettingsError, SettingsFile
from skillkit.core.disk import DamagedFileError, JsonFile
from skillkit.core.exceptions import StateFileError
from skillkit.core.foreign_json import parse_json, read_json, read_plain
from skillkit.install.exceptions import LockFileError
from skillkit.install.lockfile import read_lock
from skillkit.install.registry import InstallRegistry

DEEP = "[" * 100_000
NESTED = "[" * 500 + "]" * 500
"""It can be parsed, and would exhaust the stack of whoever walks or encodes it."""


@pytest.mark.parametrize("text", [DEEP, DEEP.encode(), '{"a":' * 100_000, NESTED, NESTED.encode()])
def test_what_is_nested_too_deeply_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(text)


def test_ordinary_depth_and_many_brackets_are_read() -> None:
    rows = [{"files": [{"name": str(number)}]} for number in range(500)]
    assert parse_json(json.dumps(rows)) == rows


def test_a_file_that_is_no_plain_one_never_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("fifo", "zero", "."):
        with pytest.raises(OSError, match=r"Not a plain file|Is a directory"):
            read_plain(tmp_path / name)
    (tmp_path / "large").write_bytes(b"[1, 2, 3]")
    with pytest.raises(ValueError, match="larger than 4 bytes"):
        read_plain(tmp_path / "large", 4)
    assert read_json(tmp_path / "large") == [1, 2, 3]


def read_settings(home: Path) -> Any:
    return SettingsFile(home).load()


def read_registry(home: Path) -> Any:
    return InstallRegistry(home).load()


def read_project_lock(home: Path) -> Any:
    return read_lock(home / "skills-lock.json")


READERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "settings": (read_settings, "settings.json"),
    "registry": (read_registry, "skills/registry.json"),
    "lock": (read_project_lock, "skills-lock.json"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", ["deep", "fifo"])
def test_no_file_of_state_hangs_or_breaks_the_program(reader: str, damage: str, tmp_path: Path) -> None:
    read, name = READERS[reader]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if damage == "fifo":
        os.mkfifo(path)
    else:
        path.write_text(DEEP)
    if (reader, damage) == ("registry", "deep"):
        assert read(tmp_path).skills == {}  # it is set aside, and made again from the store
        return
    with pytest.raises((SettingsError, StateFileError, LockFileError), match=path.name):
        read(tmp_path)


def test_a_versioned_file_that_is_too_deep_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"version": 1, "a": ' + NESTED + "}")
    with pytest.raises(DamagedFileError, match="not JSON"):
        JsonFile(tmp_path / "state.json", 1).read()


def test_a_conversation_that_is_too_deep_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "20260101-000000-abcdef01.json").write_text(DEEP)
    with pytest.raises(ConversationError, match="cannot be read"):
        ConversationStore(tmp_path).load("20260101")


def test_a_tool_result_that_is_too_deep_is_text() -> None:
    assert answer_from_result(DEEP).startswith("[[[")


def test_a_lock_of_many_entries_that_says_one_twice_is_refused_at_once(tmp_path: Path) -> None:
    """Counting every key against every other one would take hours."""
    entries = ",".join(f'"{number}":1' for number in range(300_000))
    (tmp_path / "skills-lock.json").write_text(f'{{"version": 1, "skills": {{"0": 2, {entries}}}}}')
    with pytest.raises(LockFileError, match="duplicate keys: 0"):
        read_lock(tmp_path / "skills-lock.json")
