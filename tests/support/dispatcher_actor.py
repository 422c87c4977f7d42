"""The real dispatcher in this process, reached as Ray's handle of an actor is."""

import asyncio
from types import SimpleNamespace

from skillkit.fleet.dispatcher import Dispatcher
from skillkit.fleet.protocol import PROTOCOL

RAY = SimpleNamespace(exceptions=SimpleNamespace(RayError=ConnectionError))


class Actor:
    """`drop` loses one answer of a method."""

    def __init__(self):
        self.real, self.calls, self.drop = Dispatcher(0), [], set()

    def __getattr__(self, method):
        return SimpleNamespace(remote=lambda *arguments: self._call(method, *arguments))

    def _call(self, method, *arguments):
        async def answer():
            self.calls.append(method)
            found = await getattr(self.real, method)(*arguments)
            if method in self.drop:
                self.drop.discard(method)
                await asyncio.Event().wait()
            return found

        return asyncio.ensure_future(answer())


def beat(actor, worker="worker", **facts):
    """A sign of life of a worker, which has one slot unless told otherwise."""
    return actor.real.beat(worker, {"protocol": PROTOCOL, "slots": 1, "place": worker, **facts})
