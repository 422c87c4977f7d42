"""Work in a thread pauses for others; work that is alone does not."""

import threading

import pytest

from skillkit.matching import SkillMatcher, taking_turns


@pytest.fixture
def pauses(monkeypatch):
    """The threads that have paused."""
    paused = []

    def sleep(seconds):
        assert seconds > 0, "a pause of nothing wakes nobody"
        paused.append(threading.current_thread())

    monkeypatch.setattr(taking_turns.time, "sleep", sleep)
    return paused


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return thread


def test_every_item_comes_once_and_in_order(pauses):
    found = []
    thread = in_thread(lambda: found.extend(taking_turns.taking_turns(range(20))))
    assert found == list(range(20))
    assert pauses == [thread, thread]


def test_the_main_thread_has_nobody_to_wait_for(pauses):
    assert len(list(taking_turns.taking_turns(range(100)))) == 100
    assert pauses == []


def test_a_library_is_indexed_with_pauses(pauses, make_skill):
    skills = [make_skill(f"skill-{number}") for number in range(taking_turns.ITEMS)]
    matcher = SkillMatcher()
    in_thread(lambda: (matcher.update(skills), matcher.prepare()))
    assert len(pauses) == 2, "one for the descriptions, one for the instructions"
