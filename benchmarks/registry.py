"""`python3 dev.py bench registry [SKILLS]`: search, many clients and start of a large registry."""

import argparse
import resource
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from statistics import quantiles
from urllib.parse import quote

from skillkit.registry.access import ANYBODY
from skillkit.registry.accounts import RateLimits
from skillkit.registry.app import create_app
from skillkit.registry.blobs import BlobFolder
from skillkit.registry.database import Database
from skillkit.registry.server import Server, ServerSettings
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


def search_times(registry: Registry, queries: list[str]) -> list[float]:
    """Milliseconds of processor time of each search."""
    spent = []
    for query in queries:
        begun = time.thread_time()
        registry.search(ANYBODY, query, 25)
        spent.append(1000 * (time.thread_time() - begun))
    return spent


def many_clients(registry: Registry, queries: list[str]) -> tuple[int, int]:
    """Searches that clients without pause got answered over HTTP, and errors."""
    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    settings = ServerSettings(base, limits=RateLimits(10**9, 10**9))
    server = uvicorn.Server(
        uvicorn.Config(create_app(Server(registry, settings)), log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
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
    server.should_exit = True
    thread.join()
    return sum(done), sum(failed)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("skills", nargs="?", type=int, default=100_000)
    parser.add_argument("--corpus", type=Path, default=_CORPUS, help="a folder with real skills")
    given = parser.parse_args(arguments)
    texts = descriptions(given.corpus)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "registry.sqlite")
        registry = Registry(Database(file), BlobFolder(Path(place, "blobs")))
        begun = time.monotonic()
        fill(registry, given.skills, texts)
        filled = time.monotonic() - begun
        registry.database.close()
        begun = time.monotonic()
        registry = Registry(Database(file), BlobFolder(Path(place, "blobs")))
        registry.owner("team00000x")
        started = time.monotonic() - begun
        queries = [
            " ".join(texts[n % len(texts)].split()[n % 5 : n % 5 + 1 + n % 3]) for n in range(REQUESTS)
        ]
        spent = quantiles(search_times(registry, queries), n=100)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done, failed = many_clients(registry, queries)
        rows = [
            ("skills", f"{given.skills:,}"),
            ("filling", f"{filled:.0f} s"),
            ("database", f"{file.stat().st_size / 1e6:.0f} MB"),
            ("opening the database", f"{started:.2f} s"),
            (
                "search, processor time p50 / p95 / p99",
                f"{spent[49]:.1f} / {spent[94]:.1f} / {spent[98]:.1f} ms",
            ),
            (f"{CLIENTS} clients without pause", f"{done / SECONDS:.0f} searches a second, {failed} errors"),
            ("memory before / after them", f"{before // 1024} / {_memory()} MB"),
        ]
    for name, value in rows:
        print(f"{name:42} {value}")


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main(sys.argv[1:])
