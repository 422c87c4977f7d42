"""`python3 dev.py bench registry [SKILLS] [--postgresql URL]`: search, many clients, start; a table."""

import argparse
import resource
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles
from urllib.parse import quote

from skillkit.registry.access import ANYBODY
from skillkit.registry.accounts import RateLimits
from skillkit.registry.app import create_app
from skillkit.registry.blobs import open_blobs
from skillkit.registry.server import Server, ServerSettings
from skillkit.registry.sqlite import SqliteDatabase, open_database
from skillkit.registry.store import Registry, as_json

CLIENTS, SECONDS, REQUESTS = 50, 10.0, 2000
_CORPUS = Path(__file__).parent.parent / "src" / "skillkit" / "bundled"


def descriptions(folder: Path) -> list[str]:
    """The descriptions of every SKILL.md beneath a folder."""
    found = []
    for path in sorted(folder.rglob("SKILL.md")):
        for line in path.read_text("utf-8", "replace").splitlines()[:40]:
            if line.startswith("description:") and len(line) > 40:
                found.append(line.removeprefix("description:").strip(" \"'"))
    return found


def fill(registry: Registry, number: int, texts: list[str]) -> None:
    """Insert published skills without their archives, which a search does not read."""
    with registry.database.writing() as database:
        now = time.time()
        for place in range(number):
            text = texts[place % len(texts)]
            if place % 100 == 0:
                name = f"team{place // 100:05d}x"
                row = {"name": name, "folded": name, "private": 0, "created": now}
                owner = database.insert("owner", row)
            words = text.split()
            name = f"skill-{place}"
            shuffled = " ".join(words[place % 7 :] + words[: place % 7])
            row = {
                "owner": owner,
                "name": name,
                "description": shuffled,
                "created": now,
                "updated": now + place,
            }
            skill = database.insert("skill", row)
            values = dict.fromkeys(("header", "fingerprint", "changelog", "reason", "instructions"), "")
            texts_of = {
                "files": "[]",
                "card": "{}",
                "cases": "[]",
                "checks": as_json({"description": shuffled}),
            }
            blobs = {"digest": "", "tar": "0" * 64, "zip": "0" * 64}
            state = {"state": "published", "publisher": "bench", "created": now, "published": now}
            version = database.insert(
                "version", {"skill": skill, "number": "1.0.0", **values, **texts_of, **blobs, **state}
            )
            database.run("UPDATE skill SET latest = ? WHERE id = ?", version, skill)
            database.index(skill, name, shuffled)


def search_times(registry: Registry, queries: list[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of each search: of our processor, and until the answer was there."""
    spent, waited = [], []
    for query in queries:
        begun = time.thread_time(), time.monotonic()
        registry.search(ANYBODY, query, 25)
        spent.append(1000 * (time.thread_time() - begun[0]))
        waited.append(1000 * (time.monotonic() - begun[1]))
    return spent, waited


def many_clients(registry: Registry, queries: list[str]) -> tuple[int, int]:
    """Searches that clients without pause got answered over HTTP, and errors."""
    import uvicorn

    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    settings = ServerSettings(base, limits=RateLimits(10**9, 10**9))
    server = uvicorn.Server(
        uvicorn.Config(create_app(Server(registry, settings)), log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    # In a process of their own: fifty busy threads of this one would be most of what is measured.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        counted = pool.submit(ask_without_pause, base, queries).result()
    server.should_exit = True
    thread.join()
    return counted


def ask_without_pause(base: str, queries: list[str]) -> tuple[int, int]:
    """Searches that were answered, and errors."""
    done, failed, ending = [0] * CLIENTS, [0] * CLIENTS, time.monotonic() + SECONDS

    def ask(client: int) -> None:
        place = client
        while time.monotonic() < ending:
            place += CLIENTS
            try:
                address = f"{base}/api/search?q={quote(queries[place % len(queries)])}"
                with urllib.request.urlopen(address, timeout=30) as answer:
                    answer.read()
                done[client] += 1
            except OSError:
                failed[client] += 1

    clients = [threading.Thread(target=ask, args=(client,)) for client in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return sum(done), sum(failed)


def measured(place: str, skills: int, texts: list[str], blobs: Path) -> list[tuple[str, str]]:
    """Fill the database at `place` and measure it; a label and a figure each."""
    registry = Registry(open_database(place), open_blobs(blobs))
    begun = time.monotonic()
    fill(registry, skills, texts)
    filled = time.monotonic() - begun
    registry.database.close()
    begun = time.monotonic()
    registry = Registry(open_database(place), open_blobs(blobs))
    registry.owner("team00000x")
    started = time.monotonic() - begun
    queries = [" ".join(texts[n % len(texts)].split()[n % 5 : n % 5 + 1 + n % 3]) for n in range(REQUESTS)]
    spent, waited = (quantiles(times, n=100) for times in search_times(registry, queries))
    before = _memory()
    done, failed = many_clients(registry, queries)
    return [
        ("filling", f"{filled:.0f} s"),
        ("size", f"{_size(registry) / 1e6:.0f} MB"),
        ("opening", f"{started:.2f} s"),
        ("search, our processor time p50 / p95 / p99", _milliseconds(spent)),
        ("search, time until the answer p50 / p95 / p99", _milliseconds(waited)),
        (f"{CLIENTS} clients without pause", f"{done / SECONDS:.0f} searches/s, {failed} errors"),
        ("our memory before / after them", f"{before} / {_memory()} MB"),
    ]


def _milliseconds(times: list[float]) -> str:
    return f"{times[49]:.1f} / {times[94]:.1f} / {times[98]:.1f} ms"


def _size(registry: Registry) -> int:
    if isinstance(registry.database, SqliteDatabase):
        return registry.database.path.stat().st_size
    row = registry.database.row("SELECT pg_database_size(current_database()) AS size")
    return row["size"] if row else 0


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("skills", nargs="?", type=int, default=100_000)
    parser.add_argument("--corpus", type=Path, default=_CORPUS, help="a folder with real skills")
    parser.add_argument("--postgresql", help="the URL of an empty database, to be measured beside SQLite")
    given = parser.parse_args(arguments)
    texts = descriptions(given.corpus)
    with tempfile.TemporaryDirectory() as folder:
        places = {"SQLite": str(Path(folder, "registry.sqlite"))}
        if given.postgresql:
            places["PostgreSQL"] = given.postgresql
        columns = [measured(place, given.skills, texts, Path(folder, "blobs")) for place in places.values()]
    print(f"{f'{given.skills:,} skills':48}" + "".join(f"{kind:28}" for kind in places))
    for figures in zip(*columns, strict=True):
        print(f"{figures[0][0]:48}" + "".join(f"{figure:28}" for _, figure in figures))


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main(sys.argv[1:])
