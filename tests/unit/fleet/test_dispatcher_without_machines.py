"""Whoever waits for a fleet that has no machine is told so."""

from skillkit.fleet.dispatcher import Dispatcher
from skillkit.fleet.protocol import PROTOCOL, STRANDED


async def test_what_waits_for_no_machine_is_refused_with_the_reason():
    dispatcher = Dispatcher(0)
    await dispatcher.greet("client", PROTOCOL)
    assert await dispatcher.exchange("client", [("submit", "run", "tenant", 0)]) == []
    dispatcher._served -= STRANDED + 1
    ((kind, run, why),) = await dispatcher.poll("client")
    assert (kind, run, "no machine that takes runs" in why) == ("refused", "run", True)
    assert (await dispatcher.status())["tenants"]["tenant"]["waiting"] == 0


async def test_a_machine_that_joined_in_time_gets_what_waited():
    dispatcher = Dispatcher(0)
    await dispatcher.greet("client", PROTOCOL)
    await dispatcher.exchange("client", [("submit", "run", "tenant", 0)])
    await dispatcher.beat("worker", {"protocol": PROTOCOL, "slots": 1, "place": "here"})
    ((kind, run, worker, _),) = await dispatcher.poll("client")
    assert (kind, run, worker) == ("granted", "run", "worker")
