"""Both kinds of database for tests of the registry: a SQLite file, and PostgreSQL on loopback."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from free_ports import free_port
from ray_cluster import wait_until

from skillkit.registry.database import Database
from skillkit.registry.sqlite import open_database

READY = "ready to accept connections"
_server: list[str] = []
"""The URL of the PostgreSQL server whose databases are used; empty for SQLite."""


def postgres_program(name: str) -> str | None:
    """A program of PostgreSQL, on PATH or where Debian puts it."""
    found = shutil.which(name)
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return found or next((str(folder / name) for folder in folders if (folder / name).is_file()), None)


_opened: list[Database] = []


@contextmanager
def postgres() -> Iterator[str]:
    """Start a PostgreSQL server of one's own, not as root, and end it by its process id."""
    pytest.importorskip("psycopg")
    initdb, server = postgres_program("initdb"), postgres_program("postgres")
    if initdb is None or server is None:
        pytest.skip("PostgreSQL is not installed (dev.py system installs it)")
    user = next((name for name in ("postgres", "nobody") if os.geteuid() == 0 and _exists(name)), None)
    folder = Path(tempfile.mkdtemp(prefix="registry-postgres-"))
    if user:
        shutil.chown(folder, user)
    port = free_port()
    data = folder / "data"
    made = [initdb, "-D", str(data), "-U", "skillkit", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    subprocess.run(made, check=True, capture_output=True, user=user, cwd=folder)
    options = ["-p", str(port), "-h", "127.0.0.1", "-k", str(folder), "-c", "fsync=off"]
    log = folder / "log"
    with log.open("w") as written:  # a pipe that nobody reads would block the server when it is full
        process = subprocess.Popen(
            [server, "-D", str(data), *options], stdout=written, stderr=written, user=user, cwd=folder
        )
    try:
        wait_until(lambda: process.poll() is not None or READY in log.read_text(), 60, "PostgreSQL's start")
        assert process.poll() is None, log.read_text()
        yield f"postgresql://skillkit@127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGQUIT)  # at once; nothing of it is needed again
        process.wait(60)
        shutil.rmtree(folder)


def _exists(user: str) -> bool:
    try:
        return bool(pwd.getpwnam(user))
    except KeyError:
        return False


def new_database(server: str) -> str:
    """Make an empty database and return its URL."""
    import psycopg

    name = f"registry_{secrets.token_hex(6)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"{server}/{name}"


def opened(place: str) -> Database:
    """Open a database that is closed when the test ends."""
    _opened.append(open_database(place))
    return _opened[-1]


def new_place(folder: Path) -> str:
    """Where a registry of this test keeps its rows: in a file of the folder, or in a database of its own."""
    return new_database(_server[0]) if _server else str(folder / "registry.sqlite")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture(
    scope="module", autouse=True, params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
)
def kind_of_database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs with SQLite, and among the slow ones with PostgreSQL again."""
    if request.param == "postgresql":
        _server.append(request.getfixturevalue("postgres_server"))
    yield request.param
    _server.clear()
    _close(0)


@pytest.fixture(autouse=True)
def databases_of_one_test() -> Iterator[None]:
    """Close what a test has opened; a server takes 100 connections."""
    before = len(_opened)
    yield
    _close(before)


def _close(keep: int) -> None:
    while len(_opened) > keep:
        _opened.pop().close()
