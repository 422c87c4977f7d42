"""Registries killed while many publish: what they acknowledged is there, and nothing is half there."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import httpx
import pytest
from registering import packed, skill_files
from registry_databases import new_database, postgres_server
from registry_server import Serving, serving

pytestmark = pytest.mark.slow

__all__ = ["postgres_server"]
PUBLICATIONS, KILLS = 200, (50, 100, 150)
OPTIONS = ("--hold", "none", "--uploads", "100000", "--reads", "100000")


class Publishers:
    """Four clients that publish 200 skills, and go on with another server when theirs has died."""

    def __init__(self, token: str, servers: list[Serving]) -> None:
        self.servers = servers
        self.acknowledged: set[str] = set()
        self._headers = {"authorization": f"Bearer {token}"}
        self._numbers = count()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def start(self) -> list[threading.Thread]:
        threads = [threading.Thread(target=self._run) for _ in range(4)]
        for thread in threads:
            thread.start()
        return threads

    def wait_for(self, number: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.acknowledged) >= number, timeout=300)

    def replace(self, server: Serving) -> None:
        with self._changed:
            self.servers[0] = server
            self._changed.notify_all()

    def _run(self) -> None:
        while (number := next(self._numbers)) < PUBLICATIONS:
            name, place = f"skill-{number}", number
            while not self._publish(self.servers[place % len(self.servers)], name):
                with self._changed:  # another one serves, or soon will
                    assert self._changed.wait_for(self._served, timeout=300)
                place += 1

    def _served(self) -> bool:
        return any(server.process.poll() is None for server in self.servers)

    def _publish(self, server: Serving, name: str) -> bool:
        address = f"{server.base}/api/skillkit/v1/acme"
        try:
            body = packed(skill_files(name))
            answer = httpx.post(address, content=body, headers=self._headers, timeout=60)
        except httpx.HTTPError:
            return False
        assert answer.status_code in (200, 201), answer.text  # 200: kept, but killed before it said so
        with self._changed:
            self.acknowledged.add(name)
            self._changed.notify_all()
        return True


def check_all_are_whole(server: Serving, acknowledged: set[str]) -> None:
    index = httpx.get(f"{server.base}/acme/.well-known/agent-skills/index.json", timeout=60).json()
    found = {entry["name"]: entry["url"] for entry in index["skills"]}
    assert acknowledged == found.keys()
    for url in found.values():
        assert httpx.get(f"{server.base}{url}", timeout=60).status_code == 200
    checked = server.agent("registry", "verify")
    assert checked.returncode == 0, checked.stderr
    status = json.loads(server.agent("registry", "status", "--json").stdout)
    assert status["skills"] == status["versions"]["published"] == PUBLICATIONS


def test_every_acknowledged_publication_survives_three_kills(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(serving(tmp_path, *OPTIONS))
        publishers = Publishers(server.token("ada", "--owner", "acme", "--scope", "publish"), [server])
        threads = publishers.start()
        for number in KILLS:
            publishers.wait_for(number)
            server.process.kill()
            server.process.wait()
            server = stack.enter_context(serving(tmp_path, *OPTIONS))
            publishers.replace(server)
        for thread in threads:
            thread.join()
        assert len(publishers.acknowledged) == PUBLICATIONS
        check_all_are_whole(server, publishers.acknowledged)


def test_one_of_two_servers_on_one_database_is_killed(tmp_path: Path, postgres_server: str) -> None:
    places = ("--database", new_database(postgres_server), "--blobs", str(tmp_path / "blobs"))
    with (
        serving(tmp_path / "a", *OPTIONS, places=places) as one,
        serving(tmp_path / "b", *OPTIONS, places=places) as other,
    ):
        publishers = Publishers(other.token("ada", "--owner", "acme", "--scope", "publish"), [one, other])
        threads = publishers.start()
        publishers.wait_for(KILLS[1])
        one.process.kill()
        for thread in threads:
            thread.join()
        assert len(publishers.acknowledged) == PUBLICATIONS
        check_all_are_whole(other, publishers.acknowledged)


def test_twenty_publishers_of_one_version_over_two_servers(tmp_path: Path, postgres_server: str) -> None:
    places = ("--database", new_database(postgres_server), "--blobs", str(tmp_path / "blobs"))
    with (
        serving(tmp_path / "a", *OPTIONS, places=places) as one,
        serving(tmp_path / "b", *OPTIONS, places=places) as other,
    ):
        token = one.token("ada", "--owner", "acme", "--scope", "publish")
        start = threading.Barrier(20)

        def publish(number: int) -> int:
            base = (one, other)[number % 2].base
            body = packed(skill_files("demo", f"text {number}"))
            start.wait()
            headers = {"authorization": f"Bearer {token}"}
            address = f"{base}/api/skillkit/v1/acme?version=1.0.0"
            return httpx.post(address, content=body, headers=headers, timeout=120).status_code

        with ThreadPoolExecutor(20) as pool:
            answers = sorted(pool.map(publish, range(20)))
        assert answers == [201] + 19 * [409]
        digests = {
            httpx.get(f"{server.base}/acme/demo/.well-known/agent-skills/index.json").json()["skills"][0][
                "digest"
            ]
            for server in (one, other)
        }
        assert len(digests) == 1
