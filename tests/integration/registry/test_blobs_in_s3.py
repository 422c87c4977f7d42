"""A registry whose archives are in a bucket of S3, played by moto on loopback."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from free_ports import free_port
from registering import packed, skill_files
from registry_server import serving
from stock_programs import from_pypi

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def endpoint(pytestconfig: pytest.Config) -> Iterator[str]:
    folder = from_pypi(pytestconfig, "moto[server,s3]==5.*")
    port = free_port()
    program = "from moto.server import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    try:
        assert process.stderr is not None
        assert any("Running on" in line for line in process.stderr)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_archives_are_kept_in_a_bucket(tmp_path: Path, endpoint: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/skills", method="PUT")).close()
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_REGION": "us-east-1"}
    given = {**keys, "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}
    places = ("--blobs", "s3://skills/registry")
    with serving(tmp_path, "--hold", "none", places=places, environment=given) as server:
        token = server.token("ada", "--owner", "acme", "--scope", "publish")
        sent = httpx.post(
            f"{server.base}/api/skillkit/v1/acme?version=1.0.0",
            content=packed(skill_files("demo")),
            headers={"authorization": f"Bearer {token}"},
        )
        assert sent.status_code == 201, sent.text
        assert httpx.get(f"{server.base}/dl/acme/demo/1.0.0.tar.gz").status_code == 200
        checked = server.agent("registry", "verify", "--remove-orphans")
        assert "Every archive and file matches its digest." in checked.stdout, checked.stderr
