"""`python3 dev.py bench registry --corpus FOLDER [--postgresql URL] [--record]`: search, clients, start."""

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from statistics import quantiles
from urllib.parse import quote

from benchmarks.measure import record, table
from skillkit.registry.access import ANYBODY
from skillkit.registry.blobs import open_blobs
from skillkit.registry.sqlite import SqliteDatabase, open_database
from skillkit.registry.store import Registry, as_json

CLIENTS, SECONDS, REQUESTS = 50, 10.0, 2000
_PROGRAM = "from skillkit.agent.cli import main; main()"


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
            values = dict.fromkeys(
                ("header", "fingerprint", "git", "changelog", "reason", "instructions"), ""
            )
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


def served(place: str, blobs: Path, queries: list[str]) -> dict[str, str]:
    """Start the program and let clients search without pause."""
    begun = time.monotonic()
    options = [f"--database={place}", f"--blobs={blobs}", f"--reads={10**9}", "--port=0"]
    command = [sys.executable, "-c", _PROGRAM, "registry", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{base}/healthz", timeout=60) as answer:
            answer.read()
        started, before = time.monotonic() - begun, _memory(process.pid, "VmRSS")
        done, failed = ask_without_pause(base, queries)
        after = _memory(process.pid, "VmHWM")
        process.terminate()
    return {
        "start of the program until /healthz answers": f"{started:.2f} s",
        f"{CLIENTS} clients without pause": f"{done / SECONDS:.0f} searches/s, {failed} errors",
        "memory of the server before / at most": f"{before} / {after} MB",
    }


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


def measured(place: str, skills: int, texts: list[str], blobs: Path) -> dict[str, str]:
    """Fill the database at `place` and measure it; figures by their labels."""
    registry = Registry(open_database(place), open_blobs(blobs))
    begun = time.monotonic()
    fill(registry, skills, texts)
    filled = time.monotonic() - begun
    queries = [" ".join(texts[n % len(texts)].split()[n % 5 : n % 5 + 1 + n % 3]) for n in range(REQUESTS)]
    spent, waited = (quantiles(times, n=100) for times in search_times(registry, queries))
    size = _size(registry)
    registry.database.close()
    return {
        "filling": f"{filled:.0f} s",
        "size": f"{size / 1e6:.0f} MB",
        "processor time of a search in our process, p50 / p95 / p99": _milliseconds(spent),
        "time until a search is answered, p50 / p95 / p99": _milliseconds(waited),
        **served(place, blobs, queries),
    }


def _milliseconds(times: list[float]) -> str:
    return f"{times[49]:.1f} / {times[94]:.1f} / {times[98]:.1f} ms"


def _size(registry: Registry) -> int:
    if isinstance(registry.database, SqliteDatabase):
        registry.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        return registry.database.path.stat().st_size
    row = registry.database.row("SELECT pg_database_size(current_database()) AS size")
    return row["size"] if row else 0


def _memory(process: int, name: str) -> int:
    """Megabytes of a process, as Linux counts them."""
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) // 1024


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("skills", nargs="?", type=int, default=100_000)
    parser.add_argument("--corpus", type=Path, required=True, help="a folder with real skills")
    parser.add_argument("--postgresql", help="the URL of an empty database, to be measured beside SQLite")
    parser.add_argument("--record", action="store_true", help="keep the figures for the documentation")
    given = parser.parse_args(arguments)
    texts = descriptions(given.corpus)
    with tempfile.TemporaryDirectory() as folder:
        places = {"SQLite": str(Path(folder, "registry.sqlite"))}
        if given.postgresql:
            places["PostgreSQL"] = given.postgresql
        figures = {
            kind: measured(place, given.skills, texts, Path(folder, "blobs"))
            for kind, place in places.items()
        }
    rows = [[label, *(each[label] for each in figures.values())] for label in next(iter(figures.values()))]
    heads = [f"{given.skills:,} skills, {len(texts):,} descriptions", *figures]
    table("Registry", heads, rows)
    if given.record:
        record("registry", {"heads": heads, "rows": rows})


if __name__ == "__main__":
    main(sys.argv[1:])
