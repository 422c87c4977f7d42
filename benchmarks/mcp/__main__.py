"""Many clients at once on loopback: requests a second, latency and memory, beside a server that does nothing.

python3 dev.py bench mcp [CLIENTS] [SECONDS]
"""

import asyncio
import contextlib
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from mcp import Client

from benchmarks.core import write_skills
from benchmarks.measure import duration, table

SKILLS = 100
SKILL = "skill-00007"
MOST_REQUESTS = 500_000
TURN = 5.0
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass
class Load:
    """What one server answered to all clients."""

    latencies: list[float] = field(default_factory=list)
    errors: int = 0
    seconds: float = 0.0
    memory: list[int] = field(default_factory=list)
    """Resident kilobytes of the server, once a second."""

    def at(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[int(share * (len(ordered) - 1))]


async def main(clients: int, seconds: float) -> None:
    print(f"{clients} clients for {seconds:g} s each, {os.cpu_count()} processors,")
    print(f"load of the machine {os.getloadavg()[0]:.1f}; load_skill of a cached skill of {SKILLS}")
    with tempfile.TemporaryDirectory() as scratch:
        write_skills(Path(scratch), SKILLS)
        async with server("minimal", scratch) as minimal, server("skillkit", scratch) as skillkit:
            alone = await side_by_side(minimal, skillkit, 1, min(seconds, 6))
            together = await side_by_side(minimal, skillkit, clients, seconds)
    loads = {name: (alone[name], together[name]) for name in alone}
    rows = []
    for name, of_server in loads.items():
        for load, count in zip(of_server, (1, clients), strict=True):
            rows.append(
                [
                    name,
                    str(count),
                    f"{len(load.latencies):,}",
                    str(load.errors),
                    f"{len(load.latencies) / load.seconds:,.0f}",
                    *(duration(load.at(share)) for share in (0.5, 0.95, 0.99)),
                    f"{load.memory[0] / 1024:.0f} → {load.memory[-1] / 1024:.0f} MB",
                ]
            )
    header = ["server", "clients", "requests", "errors", "a second", "p50", "p95", "p99", "memory"]
    table("MCP over HTTP on loopback", header, rows)
    for position, count in enumerate((1, clients)):
        ours, theirs = loads["skillkit"][position], loads["minimal"][position]
        ratio = ours.at(0.5) / theirs.at(0.5)
        print(f"\n{count} clients: {ratio:.2f} × the latency of the minimal server (p50)")


Running = tuple[asyncio.subprocess.Process, str]


async def side_by_side(minimal: Running, skillkit: Running, clients: int, seconds: float) -> dict[str, Load]:
    """Both servers in turns of a few seconds, so that whatever else the machine does disturbs both alike."""
    servers = {"minimal": minimal, "skillkit": skillkit}
    requests = {name: await recorded(url) for name, (_, url) in servers.items()}
    loads = {name: Load() for name in servers}
    while any(load.seconds < seconds for load in loads.values()):
        for name, (process, url) in servers.items():
            turn = min(seconds, TURN)
            await drive(loads[name], process.pid, url, requests[name], clients=clients, seconds=turn)
    return loads


@contextlib.asynccontextmanager
async def server(name: str, folder: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.mcp.servers", name, folder, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield process, (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def recorded(url: str) -> bytes:
    """The bytes that the SDK's own client sends to call load_skill, taken down on the way."""
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    sent = bytearray()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection(host, int(port))

        async def back() -> None:
            while data := await upstream_reader.read(65536):
                writer.write(data)
                await writer.drain()

        answering = asyncio.create_task(back())
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                sent.extend(data)
                upstream_writer.write(data)
                await upstream_writer.drain()
        answering.cancel()
        upstream_writer.close()
        writer.close()

    listening = await asyncio.start_server(relay, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
    async with listening, Client(address) as client:
        answer = await client.call_tool("load_skill", {"skill_id": SKILL})
        assert not answer.is_error
    posts = [b"POST /mcp" + rest for rest in bytes(sent).split(b"POST /mcp")]
    return next(post for post in posts if b'"tools/call"' in post)


async def drive(load: Load, process: int, url: str, request: bytes, *, clients: int, seconds: float) -> None:
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    started = perf_counter()

    async def client() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        while perf_counter() - started < seconds and len(load.latencies) < MOST_REQUESTS:
            before = perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1]) if length else 0)
            load.latencies.append(perf_counter() - before)
            load.errors += not head.startswith(b"HTTP/1.1 200") or b'"error"' in body[:100]
        writer.close()

    async def watch() -> None:
        while True:
            load.memory.append(resident(process))
            await asyncio.sleep(1)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(client() for _ in range(clients)))
    load.seconds += perf_counter() - started
    load.memory.append(resident(process))
    watching.cancel()


def resident(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    asyncio.run(main(count, float(sys.argv[2]) if len(sys.argv) > 2 else 60))
