"""A program keeps a slot that nobody waits for a little while, and nobody waits because of it."""

import asyncio
import json

import pytest
from dispatcher_actor import RAY, beat

from skillkit.fleet import dispatcher as dispatchers
from skillkit.fleet.link import DispatcherLink
from skillkit.fleet.policy import SETTING

SOON = 20


@pytest.fixture(autouse=True)
def kept_for_ever(monkeypatch):
    """So that a slot that comes back was called back, and did not merely end."""
    monkeypatch.setattr(dispatchers, "REUSE", 3600.0)


@pytest.fixture
async def new_link(actor):
    made = []

    def make(name="client"):
        made.append(DispatcherLink(RAY, lambda: actor, name))
        return made[-1]

    yield make
    for link in made:
        await link.close()


def lease(link, run, tenant="tenant"):
    return asyncio.wait_for(link.lease(run, tenant), SOON)


async def test_further_runs_of_a_tenant_start_without_asking(actor, new_link):
    link = new_link()
    await beat(actor)
    for number in range(5):
        kept = await lease(link, f"run-{number}")
        link.release(kept)
    assert actor.calls.count("exchange") == 1
    assert actor.real._queue.used("worker") == 1


async def test_runs_that_were_started_in_a_kept_slot_are_counted(actor, new_link):
    link = new_link()
    await beat(actor)
    for number in range(5):
        link.release(await lease(link, f"run-{number}"))
    await link.give_back()
    assert (await actor.real.status())["tenants"]["tenant"] == {
        **{"waiting": 0, "running": 0, "started": 5, "refused": 0, "weight": 1.0}
    }


async def test_a_slot_is_never_used_for_two_runs_at_once(actor, new_link):
    link = new_link()
    await beat(actor, slots=4)
    link.release(await lease(link, "first"))
    one, two = await lease(link, "one"), await lease(link, "two")
    assert one.slot == "first"
    assert two.slot == "two"


async def test_an_idle_slot_comes_back_when_another_program_waits(actor, new_link):
    link, other = new_link(), new_link("other")
    await beat(actor)
    link.release(await lease(link, "run"))
    assert (await lease(other, "waits", "other")).worker == "worker"
    assert link._idle == {}


async def test_an_idle_slot_comes_back_when_another_tenant_of_the_program_waits(actor, new_link):
    link = new_link()
    await beat(actor)
    link.release(await lease(link, "run"))
    assert (await lease(link, "waits", "other")).worker == "worker"


async def test_a_slot_that_is_wanted_while_something_runs_is_given_back_after_that(actor, new_link):
    link, other = new_link(), new_link("other")
    await beat(actor)
    kept = await lease(link, "run")
    waiting = asyncio.ensure_future(other.lease("waits", "other"))
    await until(lambda: not kept.until)
    assert not waiting.done()
    link.release(kept)
    assert (await asyncio.wait_for(waiting, SOON)).worker == "worker"


async def test_a_slot_that_is_wanted_before_its_grant_arrives_is_used_once(actor, new_link):
    link = new_link()
    await beat(actor)
    asking = asyncio.ensure_future(link.lease("run", "tenant"))
    await asyncio.sleep(0)
    link._take([("wanted", "run")])
    link._take([("granted", "run", "worker", 3600.0)])
    link.release(await asyncio.wait_for(asking, SOON))
    assert link._idle == {}


async def test_no_slot_is_kept_in_a_fleet_that_is_half_full(actor, new_link):
    link = new_link()
    await beat(actor, slots=4)
    leases = [await lease(link, f"run-{number}") for number in range(4)]
    for each in leases:
        link.release(each)
    assert list(link._idle) == ["run-0", "run-1"]


@pytest.mark.parametrize("limit", [{"running": 5}, {"rate": 100}])
async def test_a_tenant_whose_runs_are_counted_keeps_no_slot(actor, new_link, limit, tmp_path, monkeypatch):
    monkeypatch.setenv(SETTING, str(tmp_path / "policy"))
    (tmp_path / "policy").write_text(json.dumps({"tenants": {"counted": limit}}))
    actor.real._read_policy()
    link = new_link()
    await beat(actor, slots=4)
    link.release(await lease(link, "run", "counted"))
    assert link._idle == {}


async def test_another_policy_calls_every_slot_back(actor, new_link, tmp_path, monkeypatch):
    link = new_link()
    await beat(actor, slots=4)
    link.release(await lease(link, "run"))
    monkeypatch.setenv(SETTING, str(tmp_path / "policy"))
    (tmp_path / "policy").write_text(json.dumps({"default": {"running": 1}}))
    actor.real._read_policy()
    await given_back(actor, link)


@pytest.mark.parametrize("how", ["drained", "finishing"])
async def test_a_machine_that_is_to_end_gets_its_slots_back(actor, new_link, how):
    link = new_link()
    await beat(actor, slots=4)
    link.release(await lease(link, "run"))
    if how == "drained":
        await actor.real.drain("worker")
    else:
        await beat(actor, slots=4, finishing=True)
    await given_back(actor, link)
    assert (await actor.real.status())["workers"]["worker"]["state"] == "draining"


async def test_no_run_is_sent_to_a_lost_machine_in_a_kept_slot(actor, new_link):
    link = new_link()
    await beat(actor, slots=4)
    await beat(actor, "good", slots=4)
    first, second = await lease(link, "first"), await lease(link, "second")
    third = await lease(link, "third")
    assert first.worker == third.worker
    link.release(second)
    link.release(third)
    link.release(first, lost=True)
    assert list(link._idle) == ["second"]
    await actor.real.retire(second.worker)
    await until(lambda: not link._idle)


async def test_a_dispatcher_that_was_restarted_counts_no_idle_slot(actor, new_link):
    link = new_link()
    await beat(actor, slots=4)
    running, idle = await lease(link, "running"), await lease(link, "idle")
    link.release(idle)
    await link._start_over(link._generation, ConnectionError())
    await asyncio.gather(*link._sending)
    assert actor.real._queue.used("worker") == 1
    link.release(running)
    assert link._idle == {}


async def test_what_ended_while_the_dispatcher_was_away_is_still_told(actor, new_link):
    link = new_link()
    await beat(actor, slots=4)
    running = await lease(link, "running")
    running.until = 0.0
    link._sending = [asyncio.ensure_future(asyncio.sleep(3600)) for _ in range(2)]  # none is answered
    link.release(running)
    await link._start_over(link._generation, TimeoutError())
    for task in link._sending:
        task.cancel()
    await asyncio.sleep(0)
    link._send_soon()
    await asyncio.gather(*link._sending, return_exceptions=True)
    assert actor.real._queue.used("worker") == 0


async def until(condition):
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def given_back(actor, link):
    await until(lambda: not link._idle)
    await asyncio.gather(*link._sending)
    assert actor.real._queue.used("worker") == 0
