"""Who runs next: shares by weight, bounds, rates, priorities; no engine and no clock."""

import pytest

from skillkit.fleet.fair_queue import FairQueue, QueueFullError
from skillkit.fleet.policy import Policy, Share


def queue(slots=1, workers=1, default=None, **tenants):
    made = FairQueue(Policy(default or Share(waiting=100_000), tenants))
    for number in range(workers):
        made.add_worker(f"w{number}", slots)
    return made


def started(fair, count, now=0.0):
    """The tenants of the next `count` runs, each ended before the next is asked for."""
    found = []
    while len(found) < count and (granted := list(fair.grants(now))):
        for grant in granted:
            found.append(grant.run[0])
            fair.release(grant.run)
    return "".join(found[:count])


def test_five_runs_behind_a_thousand_of_another_tenant_start_among_the_first_twenty():
    fair = queue(slots=4, workers=2)
    for number in range(1000):
        fair.submit(f"a{number}", "a", 0.0)
    for number in range(5):
        fair.submit(f"b{number}", "b", 0.0)
    assert started(fair, 1005)[:20].count("b") == 5


def test_tenants_start_by_their_weight():
    fair = queue(a=Share(weight=3), b=Share(weight=1))
    for number in range(200):
        fair.submit(f"a{number}", "a", 0.0)
        fair.submit(f"b{number}", "b", 0.0)
    assert started(fair, 100).count("a") == 75


def test_a_tenant_that_was_idle_gains_no_arrears():
    fair = queue()
    for number in range(100):
        fair.submit(f"a{number}", "a", 0.0)
    started(fair, 50)
    for number in range(100):
        fair.submit(f"b{number}", "b", 0.0)
    assert started(fair, 20).count("a") == 10


def test_a_higher_priority_goes_first_within_its_tenant_only():
    fair = queue()
    fair.submit("a-low", "a", 0.0)
    fair.submit("a-high", "a", 0.0, 5)
    fair.submit("b", "b", 0.0)
    order = []
    while granted := list(fair.grants(0.0)):
        order.append(granted[0].run)
        fair.release(granted[0].run)
    assert order == ["a-high", "b", "a-low"]


def test_a_full_queue_refuses_and_says_how_many_wait():
    fair = queue(slots=1, a=Share(waiting=2))
    for number in range(2):
        fair.submit(f"a{number}", "a", 0.0)
    with pytest.raises(QueueFullError, match="2 runs of tenant 'a' are waiting"):
        fair.submit("a2", "a", 0.0)
    fair.submit("b0", "b", 0.0)
    fair.withdraw("a0")
    fair.submit("a3", "a", 0.0)
    assert fair.tenants()["a"] == {"waiting": 2, "running": 0, "started": 0, "refused": 1, "weight": 1.0}


def test_a_rate_holds_over_time_and_wakes_when_the_next_may_start():
    fair = queue(slots=1000, a=Share(rate=10, burst=1, waiting=1000))
    for number in range(100):
        fair.submit(f"a{number}", "a", 0.0)
    now, starts = 0.0, []
    while fair.tenants()["a"]["waiting"]:
        starts += [now for _ in fair.grants(now)]
        now = fair.wakes_at if fair.wakes_at is not None else now
    assert len(starts) == 100
    assert starts[-1] == pytest.approx(9.9, abs=0.01)
    assert fair.wakes_at is None


def test_no_tenant_runs_more_at_once_than_its_share_says():
    fair = queue(slots=8, a=Share(running=2))
    for number in range(5):
        fair.submit(f"a{number}", "a", 0.0)
    assert [grant.run for grant in fair.grants(0.0)] == ["a0", "a1"]
    fair.release("a0")
    assert [grant.run for grant in fair.grants(0.0)] == ["a2"]


def test_the_emptiest_worker_is_next_and_none_gets_more_than_its_slots():
    fair = queue(slots=2, workers=2)
    for number in range(6):
        fair.submit(f"a{number}", "a", 0.0)
    assert [grant.worker for grant in fair.grants(0.0)] == ["w0", "w1", "w0", "w1"]
    fair.release("a1")
    assert [grant.worker for grant in fair.grants(0.0)] == ["w1"]


def test_a_closed_worker_starts_nothing_and_a_removed_one_neither():
    fair = queue(slots=2)
    for number in range(3):
        fair.submit(f"a{number}", "a", 0.0)
    assert len(list(fair.grants(0.0))) == 2
    fair.close_worker("w0")
    fair.release("a0")
    assert list(fair.grants(0.0)) == []
    fair.remove_worker("w0")
    fair.release("a1")
    assert fair.tenants()["a"]["running"] == 0
    fair.add_worker("w1", 1)
    assert [grant.run for grant in fair.grants(0.0)] == ["a2"]


def test_runs_that_started_before_a_new_queue_count():
    fair = FairQueue(Policy())
    fair.adopt("old", "a", "w0", 0.0)
    fair.add_worker("w0", 1)
    fair.submit("new", "a", 0.0)
    assert list(fair.grants(0.0)) == []
    fair.release("old")
    assert [grant.run for grant in fair.grants(0.0)] == ["new"]


def test_asking_twice_for_one_run_starts_it_once():
    fair = queue(slots=5)
    fair.submit("a0", "a", 0.0)
    fair.submit("a0", "a", 0.0)
    assert len(list(fair.grants(0.0))) == 1
    fair.submit("a0", "a", 0.0)
    assert list(fair.grants(0.0)) == []


def test_a_change_of_policy_counts_from_then_on():
    fair = queue(slots=1)
    for number in range(100):
        fair.submit(f"a{number}", "a", 0.0)
        fair.submit(f"b{number}", "b", 0.0)
    fair.change_policy(Policy(tenants={"a": Share(weight=9)}))
    assert started(fair, 50).count("a") == 45
