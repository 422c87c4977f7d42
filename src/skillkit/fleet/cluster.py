"""Constants shared by the gateway, engine and machines of a fleet, and the connection to Ray."""

import ipaddress
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.fleet.sealing import check_private, ray_token_path

PROTOCOL = 5
"""Incremented with every protocol change; machines of another version are not used."""
HEARTBEAT = 1.0
"""Seconds between two heartbeats of a machine."""
SILENCE = 5.0
"""Seconds without a heartbeat after which a machine counts as lost."""
PROGRAM_SILENCE = 10.0
"""Seconds without a request of a program after which its runs are cancelled."""
STRANDED = 120.0
"""Seconds without any ready machine after which waiting runs are refused."""
REMEMBERED = 86400.0
"""Seconds for which the gateway remembers that a run has ended; later, its program must not repeat it."""
NAMESPACE = "skillkit"
WORKER = "worker-"
AS_ITS_MACHINE = {"env_vars": {"RAY_worker_niceness": "0"}}
"""Ray starts its actors with niceness 15, which scripts would inherit."""
_PROBE = 3.0
_HOW = (
    "start a head with 'ray start --head --port=6399', join this machine with "
    "'ray start --address=HEAD:6399', and name the head as ray://HEAD:6399"
)


class FleetError(SkillsUseError, code="fleet"):
    """The fleet is unreachable, or refuses an operation; the message has the reason."""


def import_ray() -> Any:
    """Import Ray, quiet and without usage reports; FleetError has the install command."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        import ray
    except ImportError as error:
        raise FleetError("Machines of a fleet need Ray: install skillkit with the extra 'fleet'") from error
    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


def parse_address(address: str) -> tuple[str, int]:
    """Return host and port of `ray://HOST:PORT`; ConfigurationError describes the format."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme != "ray" or not host or not port or parts.path.strip("/"):
        raise ConfigurationError(f"'{address}' is not a Ray address; {_HOW}", "address")
    return host, port


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine's loopback."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_cluster(address: str) -> tuple[str, int]:
    """Return host and port of a permitted head: TLS unless on loopback, and a token with private
    permissions."""
    host, port = parse_address(address)
    if not is_loopback(host) and os.environ.get("RAY_USE_TLS") != "1":
        raise FleetError(
            f"{host} is reached over a network, and Ray would send its token in clear: set RAY_USE_TLS=1, "
            "RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT on every machine of the fleet"
        )
    if "RAY_AUTH_TOKEN" not in os.environ and ray_token_path().exists():
        check_private(ray_token_path())
    return host, port


def check_head(address: str) -> str:
    """Return HOST:PORT of a head that accepts connections; FleetError within seconds if none does."""
    host, port = check_cluster(address)
    try:
        with socket.create_connection((host, port), timeout=_PROBE):
            return f"{host}:{port}"
    except OSError as error:
        reason = error.strerror or "no answer"
        raise FleetError(f"No Ray head at {address}: {reason}. To make one, {_HOW}") from error


def send_ray_to(log: Path) -> None:
    """Redirect Ray's own lines to a file, those that it prints too; only `sys.stderr` is the terminal."""
    sys.stderr.flush()
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def connect(address: str) -> Any:
    """Connect to the cluster at `ray://HOST:PORT` and return Ray; a cluster is never started."""
    where = check_head(address)
    ray = import_ray()
    if not ray.is_initialized():
        try:
            ray.init(address=where, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            raise FleetError(f"Cannot join the cluster at {address}: {_reason(error)}") from error
    return ray


def _reason(error: BaseException) -> str:
    """Return the innermost cause in one line, with a clear message for a wrong token."""
    text, cause = str(error), error.__cause__ or error.__context__
    said = " ".join(text.split())[:300].rstrip(".")
    while cause is not None:
        text, cause = f"{text} {cause}", cause.__cause__ or cause.__context__
    if "InvalidAuthToken" in text:
        return f"token required: copy {ray_token_path()} from the head, or set RAY_AUTH_TOKEN"
    return said


def workers_and_addresses(ray: Any) -> tuple[list[str], list[str]]:
    """Return the names of the workers of every version, and the addresses of all machines."""
    named = ray.util.list_named_actors(all_namespaces=True)
    workers = [
        entry["name"]
        for entry in named
        if entry["namespace"] == NAMESPACE and entry["name"].startswith(WORKER)
    ]
    return workers, sorted({node["NodeManagerAddress"] for node in ray.nodes()})
