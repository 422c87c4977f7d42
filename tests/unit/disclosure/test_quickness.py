"""When an answer is given in place, and when in a thread."""

import time
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.disclosure import quickness
from skillkit.disclosure.quickness import Quickness


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Quickness:
    monkeypatch.setattr(quickness, "QUICK_SECONDS", 0.02)
    manager = SkillManager(project_skill_dir=tmp_path, anthropic_config_dir="")
    manager.discover()
    return Quickness(manager)


def answer(
    judged: Quickness, monkeypatch: pytest.MonkeyPatch, *, waits: bool = False, computes: bool = False
) -> bool:
    """Let an answer take its time, and return whether the next one needs no thread."""
    clock, busy = iter([0.0, 1.0 if waits else 0.0]), iter([0.0, 1.0 if computes else 0.0])
    with monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: next(clock))
        patched.setattr(time, "thread_time", lambda: next(busy))
        with judged.measured():
            pass
    return judged.at_once


def test_the_first_answer_is_given_in_a_thread(judged: Quickness) -> None:
    assert not judged.at_once


def test_what_computes_or_waits_from_the_beginning_is_never_answered_in_place(
    judged: Quickness, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [answer(judged, monkeypatch, waits=True) for _ in range(3)] == [False] * 3
    assert not answer(judged, monkeypatch, computes=True)


def test_a_wait_of_a_busy_machine_is_forgiven_once(
    judged: Quickness, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(judged, monkeypatch)
    assert answer(judged, monkeypatch, waits=True)
    assert not answer(judged, monkeypatch, waits=True)
    assert answer(judged, monkeypatch)
    assert not answer(judged, monkeypatch, computes=True)
