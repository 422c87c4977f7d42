"""A gateway with real workers in one process: everything but Ray, which the tests in a namespace have."""

import asyncio
import contextlib
import threading
import uuid
from pathlib import Path
from typing import Any

import uvicorn
from free_ports import free_port

from skillkit.fleet.engine import EngineLostError, NoWorkerError, WorkerGoneError
from skillkit.fleet.gateway import Gateway
from skillkit.fleet.gateway_http import make_app
from skillkit.fleet.sealing import FleetKeys, add_key
from skillkit.fleet.worker import Worker, WorkerOptions


class EngineHere:
    """Calls workers of this process as the Ray driver calls those of the machines."""

    def __init__(self) -> None:
        self.problem = ""
        self.addresses: list[str] = []
        self.machines: dict[str, Any] = {}
        self.calls: list[tuple[str, str]] = []
        self._up = asyncio.Event()
        self._under_way: dict[asyncio.Future[Any], str] = {}
        self._up.set()

    async def keep_running(self) -> None:
        await asyncio.Event().wait()

    async def ready(self) -> None:
        await self._up.wait()

    async def workers(self) -> list[str]:
        self._check()
        return list(self.machines)

    async def call(self, worker: str, method: str, *arguments: Any, seconds: float | None = None) -> Any:
        self._check(worker)
        self.calls.append((worker, method))
        work = asyncio.ensure_future(getattr(self.machines[worker], method)(*arguments))
        waiting = asyncio.ensure_future(asyncio.shield(work))
        self._under_way[waiting] = worker
        try:
            async with asyncio.timeout(seconds):
                return await waiting
        except asyncio.CancelledError:
            if not self._up.is_set():
                raise EngineLostError("killed") from None
            if worker not in self.machines:
                raise WorkerGoneError("killed") from None
            raise
        finally:
            self._under_way.pop(waiting, None)

    def _check(self, worker: str | None = None) -> None:
        if not self._up.is_set():
            raise EngineLostError("killed")
        if worker is not None and worker not in self.machines:
            raise NoWorkerError("no such worker")

    def die(self) -> None:
        """As the driver does when its raylet is killed: what was sent goes on, nobody hears of it."""
        self._up.clear()
        self.problem = "killed"
        for waiting in list(self._under_way):
            waiting.cancel()

    def come_back(self) -> None:
        self.problem = ""
        self._up.set()

    def lose(self, worker: str) -> None:
        """As when a worker is killed."""
        del self.machines[worker]
        for waiting, called in list(self._under_way.items()):
            if called == worker:
                waiting.cancel()


class GatewayHere:
    """Serves on a free port of loopback in a thread, until `stop`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys_path = folder / "keys"
        if not self.keys_path.exists():
            add_key(self.keys_path)
        self.keys = FleetKeys.read(self.keys_path)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.loop = asyncio.new_event_loop()
        self.engine: Any = None
        self.gateway: Any = None
        self.thread = threading.Thread(target=self._run_loop, daemon=True)
        self.thread.start()
        self.start()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def start(self, engine: Any = None) -> None:
        """Start the gateway, again with the engine that it had."""
        self.do(self._start(engine))

    async def _start(self, engine: Any) -> None:
        self.engine = engine or self.engine or EngineHere()
        self.gateway = Gateway(self.engine, self.keys, self.folder / "gateway")
        config = uvicorn.Config(make_app(self.gateway), port=self.port, log_config=None, access_log=False)
        self.server = uvicorn.Server(config)
        self.server.install_signal_handlers = lambda: None
        self.server.capture_signals = contextlib.nullcontext
        self.serving = asyncio.ensure_future(self.server.serve())
        while not self.server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def add_worker(self, home: str = "machine", **options: Any) -> str:
        name = f"worker-{uuid.uuid4().hex}"
        chosen = {"slots": 4, "min_free": 1, "sandbox": "bwrap", **options}
        words = WorkerOptions(name, home=str(self.folder / home), keys=str(self.keys_path), **chosen)

        async def add() -> None:
            worker = self.engine.machines[name] = Worker(words)
            worker._facts["address"] = "127.0.0.1"

        self.do(add())
        return name

    def kill(self) -> None:
        """End the gateway without letting it end anything: as kill -9 does."""

        async def kill() -> None:
            for server in self.server.servers:
                server.close()
            for connection in list(self.server.server_state.connections):
                connection.transport.abort()
            nobody = EngineHere()
            nobody.die()
            self.gateway._engine = nobody  # requests that are under way reach no machine any more
            self.serving.cancel()
            await asyncio.wait([self.serving])
            await self.server.lifespan.shutdown()  # cancels its tasks, which end no run by that
            self.server = None

        self.do(kill())

    def stop(self) -> None:
        self.do(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def _stop(self) -> None:
        if self.server is not None:
            self.server.should_exit = True
            await asyncio.wait([self.serving], timeout=10)
        for worker in self.engine.machines.values():
            for run in list(worker._running):
                await worker.cancel(run)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.wait(others, timeout=5) if others else None
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
