"""Whenever a process dies, what is found afterwards is the old state or the new one."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from skill_repositories import skill_text

from skillkit.install.installer import SkillInstaller

DRIVER = Path(__file__).parents[2] / "support" / "crash_driver.py"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where that is possible: thousands of fsyncs on a busy disk take minutes."""
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="skillkit-crash-", dir=memory) as place:
        yield Path(place)


@pytest.mark.parametrize(
    "action",
    [
        "update-linked",  # removes one tree, writes another and moves links
        *(
            pytest.param(action, marks=pytest.mark.slow)
            for action in ("add", "update", "remove", "rollback", "sync")
        ),
        *(
            pytest.param(f"{action}-{how}", marks=pytest.mark.slow)
            for action in ("add", "update", "remove", "rollback")
            for how in ("linked", "copied")
            if (action, how) != ("update", "linked")
        ),
    ],
)
def test_killed_at_every_call_on_the_disk_nothing_is_half_done(action: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(folder), action],
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["points"] >= 30
    assert {"write", "fsync", "replace", "flock"} <= set(result["operations"])


def test_everything_is_on_the_disk_before_the_registry_speaks_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a power failure could undo must have been synced before the one step that counts."""
    source = tmp_path / "source"
    (source / "scripts").mkdir(parents=True)
    (source / "SKILL.md").write_text(skill_text("pdf"))
    (source / "scripts" / "run.py").write_text("print(1)\n")
    unsynced: set[str] = set()
    opened: dict[int, str] = {}
    committed: list[set[str]] = []
    real = {name: getattr(os, name) for name in ("open", "write", "fsync", "rename", "replace", "mkdir")}

    def open_(path: str, *rest: object, **options: object) -> int:
        descriptor: int = real["open"](path, *rest, **options)
        opened[descriptor] = os.path.abspath(path) if "dir_fd" not in options else ""
        return descriptor

    def write(descriptor: int, data: bytes) -> int:
        unsynced.add(opened[descriptor])
        return int(real["write"](descriptor, data))

    def fsync(descriptor: int) -> None:
        real["fsync"](descriptor)
        unsynced.discard(opened[descriptor])

    def moved(name: str) -> Callable[..., None]:
        def move(old: str, new: str) -> None:
            if str(new).endswith("registry.json"):
                committed.append(set(unsynced))
            real[name](old, new)
            unsynced.add(str(Path(new).parent))

        return move

    def mkdir(path: str, *rest: object) -> None:
        real["mkdir"](path, *rest)
        unsynced.update((str(path), str(Path(path).parent)))

    for name, call in {
        "open": open_,
        "write": write,
        "fsync": fsync,
        "rename": moved("rename"),
        "replace": moved("replace"),
        "mkdir": mkdir,
    }.items():
        monkeypatch.setattr(os, name, call)
    SkillInstaller(tmp_path / "home", consent=lambda proposal: True).add(str(source))
    monkeypatch.undo()
    assert len(committed) == 1
    home = str(tmp_path / "home")
    assert not {path for path in committed[0] if path.startswith(f"{home}/store")}
    assert not {path for path in unsynced if path.startswith(f"{home}/skills")}, "and the names after it"
