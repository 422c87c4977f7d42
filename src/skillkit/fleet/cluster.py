"""What gateway, engine and machines of a fleet agree on, and how they reach Ray."""

import logging
import os
import socket
from typing import Any
from urllib.parse import urlsplit

from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.fleet.sealing import check_private, ray_token_path

PROTOCOL = 3
"""Raised with every change of what they say to each other; machines of another version are not used."""
HEARTBEAT = 1.0
"""Seconds between two heartbeats of a machine."""
SILENCE = 5.0
"""Seconds without one after which a machine counts as lost."""
PROGRAM_SILENCE = 10.0
"""Seconds without a word of a program after which its runs are cancelled."""
STRANDED = 60.0
"""Seconds without any ready machine after which waiting runs are refused."""
NAMESPACE = "skillkit"
WORKER = "worker-"
AS_ITS_MACHINE = {"env_vars": {"RAY_worker_niceness": "0"}}
"""Ray gives its actors the niceness 15, and scripts would inherit it."""
_PROBE = 3.0
_HOW = (
    "start a head with 'ray start --head --port=6399', join this machine with "
    "'ray start --address=HEAD:6399', and name the head as ray://HEAD:6399"
)


class FleetError(SkillsUseError):
    """The fleet cannot be reached, or cannot do what was asked; the message says why."""


def import_ray() -> Any:
    """Return the library, quiet and reporting its use to nobody; FleetError says how to get it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
    logging.getLogger("ray").setLevel(logging.ERROR)
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        import ray
    except ImportError as error:
        raise FleetError("Machines of a fleet need Ray: install skillkit with the extra 'fleet'") from error
    return ray


def parse_address(address: str) -> tuple[str, int]:
    """Return host and port of `ray://HOST:PORT`; ConfigurationError says what an address looks like."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme != "ray" or not host or not port or parts.path.strip("/"):
        raise ConfigurationError(f"'{address}' is not the address of a Ray head; {_HOW}", "address")
    return host, port


def check_head(address: str) -> str:
    """Return HOST:PORT of a head that accepts connections; FleetError within seconds if none does."""
    host, port = parse_address(address)
    if "RAY_AUTH_TOKEN" not in os.environ and ray_token_path().exists():
        check_private(ray_token_path())
    try:
        with socket.create_connection((host, port), timeout=_PROBE):
            return f"{host}:{port}"
    except OSError as error:
        reason = error.strerror or "no answer"
        raise FleetError(f"No Ray head at {address}: {reason}. To make one, {_HOW}") from error


def connect(address: str) -> Any:
    """Return Ray, connected to the cluster at `ray://HOST:PORT`; nothing is ever started for it."""
    where = check_head(address)
    ray = import_ray()
    if not ray.is_initialized():
        try:
            ray.init(address=where, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            raise FleetError(f"Cannot join the cluster at {address}: {_reason(error)}") from error
    return ray


def _reason(error: BaseException) -> str:
    """The innermost cause in one line; a wrong token in plain words."""
    text, cause = str(error), error.__cause__ or error.__context__
    said = " ".join(text.split())[:300].rstrip(".")
    while cause is not None:
        text, cause = f"{text} {cause}", cause.__cause__ or cause.__context__
    if "InvalidAuthToken" in text:
        return f"it wants its token: copy {ray_token_path()} from the head, or set RAY_AUTH_TOKEN"
    return said


def worker_names(ray: Any) -> list[str]:
    """Return the names of the workers of every version."""
    named = ray.util.list_named_actors(all_namespaces=True)
    return [
        entry["name"]
        for entry in named
        if entry["namespace"] == NAMESPACE and entry["name"].startswith(WORKER)
    ]
