"""A client and a dispatcher that lose sight of each other: nothing waits for ever, nothing starts twice."""

import asyncio

import pytest
from dispatcher_actor import RAY, beat

from skillkit.fleet import dispatcher as dispatchers
from skillkit.fleet import link as links
from skillkit.fleet.client import FleetClient
from skillkit.fleet.link import DispatcherLink, NotStartedError
from skillkit.fleet.protocol import CLIENT_SILENCE


@pytest.fixture
async def link(actor):
    found = DispatcherLink(RAY, lambda: actor, "client")
    yield found
    await found.close()


@pytest.fixture(autouse=True)
def asks_for_every_run(monkeypatch):
    """Slots that are kept for further runs have their own tests."""
    monkeypatch.setattr(dispatchers, "REUSE", 0.0)


async def test_a_client_that_was_forgotten_says_again_what_it_waits_for(actor, link):
    waiting = asyncio.ensure_future(link.lease("run", "tenant"))
    await asyncio.sleep(0)
    await asyncio.gather(*link._sending)
    for client in actor.real._clients.values():
        client.heard -= CLIENT_SILENCE + 1
    actor.real._forget_silent(asyncio.get_running_loop().time())
    assert actor.real._clients == {}
    await beat(actor)
    assert (await asyncio.wait_for(waiting, 20)).worker == "worker"


async def test_a_slot_whose_answer_was_lost_is_given_again_and_not_twice(actor, link, monkeypatch):
    monkeypatch.setattr(links, "_PATIENCE", 0.2)
    await beat(actor)
    actor.drop = {"exchange"}
    lease = await asyncio.wait_for(link.lease("run", "tenant"), 20)
    assert (lease.worker, actor.real._queue.used("worker")) == ("worker", 1)
    link.release(lease)
    other = await asyncio.wait_for(link.lease("other", "tenant"), 20)
    assert (other.worker, actor.real._queue.used("worker")) == ("worker", 1)


async def test_a_slot_that_is_granted_again_to_a_run_that_has_it_stays_its_own(actor, link):
    await beat(actor)
    lease = await asyncio.wait_for(link.lease("run", "tenant"), 20)
    link._say(("submit", "run", "tenant", 0))
    await asyncio.gather(*link._sending)
    assert not link._outbox
    assert actor.real._queue.used(lease.worker) == 1


async def test_a_run_does_not_wait_until_the_slot_of_the_one_before_it_is_given_back(actor, link):
    await beat(actor)
    lease = await asyncio.wait_for(link.lease("run", "tenant"), 20)
    actor.drop = {"exchange"}  # what is said about the release is never answered
    link.release(lease)
    link._send_soon()
    await asyncio.sleep(0)
    assert link._outbox == []
    assert (await asyncio.wait_for(link.lease("other", "tenant"), 20)).worker == "worker"
    assert link._generation == 0


async def test_a_slot_is_given_back_together_with_asking_for_the_next_one(actor, link):
    await beat(actor)
    for number in range(5):
        link.release(await asyncio.wait_for(link.lease(f"run-{number}", "tenant"), 20))
    link._send_soon()
    await asyncio.gather(*link._sending)
    assert actor.calls.count("exchange") == 6
    assert actor.real._queue.used("worker") == 0


async def test_a_slot_is_given_back_at_once_when_another_run_waits_for_it(actor, link, monkeypatch):
    monkeypatch.setattr(links, "_TOGETHER", 3600.0)
    await beat(actor)
    lease = await asyncio.wait_for(link.lease("run", "tenant"), 20)
    other = asyncio.ensure_future(link.lease("other", "tenant"))
    await asyncio.sleep(0)
    link.release(lease)
    assert (await asyncio.wait_for(other, 20)).worker == "worker"


async def test_a_program_that_leaves_keeps_no_slot(actor, link):
    await beat(actor)
    await asyncio.wait_for(link.lease("run", "tenant"), 20)
    await actor.real.leave("client")
    assert actor.real._queue.used("worker") == 0


async def test_a_poll_goes_on_when_an_exchange_told_what_it_was_woken_for(actor, link):
    await beat(actor)
    for number in range(5):
        link.release(await asyncio.wait_for(link.lease(f"run-{number}", "tenant"), 20))
        await asyncio.gather(*link._sending)
    assert actor.calls.count("poll") == 1


async def test_a_client_that_comes_back_after_a_pause_is_greeted_and_not_unknown(actor, link, monkeypatch):
    monkeypatch.setattr(links, "_IDLE", 0.0)
    await beat(actor)
    link.release(await asyncio.wait_for(link.lease("run", "tenant"), 20))
    await asyncio.wait_for(link._listening, 20)
    await asyncio.wait_for(link.lease("other", "tenant"), 20)
    assert link._generation == 0


async def test_thousands_that_begin_together_ask_once_who_serves_them(actor, monkeypatch):
    monkeypatch.setattr("skillkit.fleet.client.get_dispatcher", lambda ray, number=0: actor)
    client = FleetClient(RAY, None, None)
    found = await asyncio.gather(*(client._link(f"tenant-{number}") for number in range(2000)))
    assert (len(set(map(id, found))), actor.calls) == (1, ["greet"])


async def test_who_waits_when_a_program_leaves_is_told(actor, link):
    waiting = asyncio.ensure_future(link.lease("run", "tenant"))
    await asyncio.sleep(0)
    await link.close()
    for run in (waiting, link.lease("later", "tenant")):
        with pytest.raises(NotStartedError, match="left the fleet"):
            await asyncio.wait_for(run, 20)


@pytest.mark.parametrize("turns", range(12))
async def test_nothing_is_left_behind_wherever_a_program_leaves(actor, link, turns):
    """As many turns of the loop later as it takes to connect, to ask and to be answered."""
    before = asyncio.all_tasks()
    waiting = asyncio.ensure_future(link.lease("run", "tenant"))
    for _ in range(turns):
        await asyncio.sleep(0)
    await link.close()
    await asyncio.gather(waiting, return_exceptions=True)
    tasks = {task for task in asyncio.all_tasks() - before if "DispatcherLink" in repr(task)}
    assert not tasks
