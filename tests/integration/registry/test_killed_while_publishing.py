"""A registry that is killed while many publish: what it acknowledged is there, and nothing is half there."""

import json
import threading
from pathlib import Path

import httpx
import pytest
from registering import packed, skill_files
from registry_server import agent, serving

pytestmark = pytest.mark.slow

PUBLICATIONS, KILLED_AFTER = 200, 60


def test_every_acknowledged_publication_survives_a_kill(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    numbers = iter(range(PUBLICATIONS))
    lock = threading.Lock()
    options = ("--hold", "none", "--uploads", "100000")
    with serving(tmp_path, *options) as server:
        token = server.token("ada", "--owner", "acme", "--scope", "publish")

        def publish() -> None:
            headers = {"authorization": f"Bearer {token}"}
            with httpx.Client(base_url=server.base, headers=headers, timeout=60) as client:
                while True:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    name = f"skill-{number}"
                    try:
                        answer = client.post("/api/skillkit/v1/acme", content=packed(skill_files(name)))
                    except httpx.HTTPError:
                        return
                    assert answer.status_code == 201, answer.text
                    with lock:
                        acknowledged.add(name)
                        if len(acknowledged) == KILLED_AFTER:
                            server.process.kill()

        threads = [threading.Thread(target=publish) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(acknowledged) >= KILLED_AFTER
    with serving(tmp_path, *options) as server:
        index = httpx.get(f"{server.base}/acme/.well-known/agent-skills/index.json", timeout=60).json()
        found = {entry["name"]: entry["url"] for entry in index["skills"]}
        assert acknowledged <= found.keys()
        for url in found.values():
            assert httpx.get(f"{server.base}{url}", timeout=60).status_code == 200
    checked = agent(tmp_path, "registry", "verify")
    assert checked.returncode == 0, checked.stderr
    status = json.loads(agent(tmp_path, "registry", "status", "--json").stdout)
    assert status["skills"] == status["versions"]["published"] == len(found)
