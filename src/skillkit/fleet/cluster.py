"""The names, versions and calls by which programs and machines of a fleet find each other in Ray."""

import hashlib
import os
from typing import Any
from urllib.parse import urlsplit

from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.fleet.dispatcher import Dispatcher
from skillkit.fleet.protocol import PROTOCOL

NAMESPACE = "skillkit"
AS_ITS_MACHINE = {"env_vars": {"RAY_worker_niceness": "0"}}
"""Ray gives its actors the niceness 15, and scripts inherit it: beside anything else on a machine they would
get a thirtieth of a local run's share, and everybody waits for a dispatcher that waits for a core."""
_HOW = (
    "start a head with 'ray start --head --port=6399', join this machine with "
    "'ray start --address=HEAD:6399', and name the head as ray://HEAD:6399"
)


class FleetError(SkillsUseError):
    """The fleet cannot be reached, or cannot do what was asked; the message says why."""


def import_ray() -> Any:
    """Return the library; FleetError says how to get it. It tells nobody that it is used."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise FleetError("A fleet needs Ray: pip install 'skillkit[fleet]'") from error
    return ray


def parse_address(address: str) -> str:
    """Return HOST:PORT of `ray://HOST:PORT`; ConfigurationError says what an address looks like."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme != "ray" or not host or not port or parts.path.strip("/"):
        raise ConfigurationError(f"'{address}' is no address of a fleet; {_HOW}", "SKILLKIT_RUNNER")
    return f"{host}:{port}"


def connect(address: str) -> Any:
    """Return Ray, connected to the cluster at `ray://HOST:PORT`; nothing is ever started for it."""
    where = parse_address(address)
    ray = import_ray()
    if not ray.is_initialized():
        try:
            ray.init(address=where, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            raise FleetError(f"No fleet at {address}: {_reason(error)}. To make one, {_HOW}") from error
    return ray


def _reason(error: BaseException) -> str:
    """The innermost cause in a line; a wrong token is said in plain words."""
    said = text = str(error)
    cause = error.__cause__ or error.__context__
    while cause is not None:
        text, cause = f"{text} {cause}", cause.__cause__ or cause.__context__
    if "InvalidAuthToken" in text:
        return "it wants its token (RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN)"
    return " ".join(said.split())[:300].rstrip(".")


async def ray_value(reference: Any) -> Any:
    """Wait for what a call of an actor returns, as a coroutine that a task can be made of."""
    return await reference


def dispatcher_name(number: int, protocol: int = PROTOCOL) -> str:
    """Return the name of a dispatcher; each version has its own, so that two can run side by side."""
    return f"dispatcher-{protocol}-{number}"


def get_dispatcher(ray: Any, number: int = 0) -> Any:
    """Return the dispatcher with this number, made on the head's machine if there is none.

    It is restarted there when it dies. What it knew is told again by workers and clients.
    """
    actor = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0)(Dispatcher)
    return actor.options(
        name=dispatcher_name(number),
        namespace=NAMESPACE,
        lifetime="detached",
        get_if_exists=True,
        max_concurrency=10_000,
        runtime_env=AS_ITS_MACHINE,
        resources={"node:__internal_head__": 0.001},
    ).remote(number)


def find_dispatchers(ray: Any) -> dict[str, Any]:
    """Return the dispatchers of every version by name."""
    named = ray.util.list_named_actors(all_namespaces=True)
    return {
        entry["name"]: ray.get_actor(entry["name"], namespace=NAMESPACE)
        for entry in named
        if entry["namespace"] == NAMESPACE and entry["name"].startswith("dispatcher-")
    }


def number_of(text: str, count: int) -> int:
    """Return which of `count` dispatchers serves a tenant or a worker: always the same one."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % count
