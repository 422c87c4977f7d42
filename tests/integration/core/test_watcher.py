"""Live reload with the real file events of this machine."""

import queue
import shutil
import threading
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.manager import Changes
from skillkit.core.watcher import Watcher

pytest.importorskip("watchfiles", reason="the extra 'watch' is not installed")
PATIENCE = 300


@pytest.fixture
def manager(skills_dir: Path, write_skill) -> SkillManager:
    write_skill("first")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    return manager


def test_a_change_on_disk_is_a_change_in_the_manager(
    manager: SkillManager, skills_dir: Path, write_skill
) -> None:
    changes: queue.Queue[Changes] = queue.Queue()
    with manager.watch(changes.put):
        write_skill("second")
        assert "project:second" in changes.get(timeout=PATIENCE).added
        assert manager.get_skill("second")
        write_skill("first", description="Something else")
        while "project:first" not in changes.get(timeout=PATIENCE).changed:
            pass
        assert manager.get_skill("first").description == "Something else"
        shutil.rmtree(skills_dir / "second")
        while "project:second" not in changes.get(timeout=PATIENCE).removed:
            pass
    assert not [thread for thread in threading.enumerate() if thread.name == "skillkit-watcher"]


def test_a_skill_behind_a_symbolic_link_is_watched_where_it_is(
    skills_dir: Path, write_skill, tmp_path: Path
) -> None:
    real = write_skill("linked", into=tmp_path / "elsewhere")
    (skills_dir / "linked").symlink_to(real)
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    changes: queue.Queue[Changes] = queue.Queue()
    with manager.watch(changes.put):
        write_skill("linked", description="Something else", into=tmp_path / "elsewhere")
        assert changes.get(timeout=PATIENCE).changed == ("project:linked",)


def test_a_listener_that_fails_does_not_end_the_watch(
    skills_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls: queue.Queue[int] = queue.Queue()

    def fail() -> None:
        calls.put(1)
        raise RuntimeError("listener")

    with Watcher([skills_dir], fail).start():
        calls.get(timeout=PATIENCE)
        (skills_dir / "x").touch()
        calls.get(timeout=PATIENCE)
    assert "still watching" in caplog.text


def test_a_watcher_may_be_stopped_by_its_listener(skills_dir: Path) -> None:
    stopped = threading.Event()

    def stop() -> None:
        watcher.stop()
        stopped.set()

    watcher = Watcher([skills_dir], stop)
    watcher.start()
    assert stopped.wait(PATIENCE)
    watcher.stop()


def test_a_folder_that_is_gone_is_said_and_hangs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Watcher([tmp_path / "gone"], lambda: None).start().stop()
    assert "no longer watched" in caplog.text


def test_without_the_extra_the_remedy_is_named(skills_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "watchfiles", None)
    with pytest.raises(ConfigurationError, match=r"pip install .*watchfiles"):
        Watcher([skills_dir], lambda: None)
